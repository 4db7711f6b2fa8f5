# Sourced by quickstart.sh and test.sh: installs the Debian packages that are missing.

# need PACKAGE ... : asks for root rights only if something is missing.
need() {
  local missing=()
  command -v apt-get >/dev/null || return 0  # another system: cmake says what it lacks
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "missing packages; run as root:  apt-get install ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

build_packages=(g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev)
