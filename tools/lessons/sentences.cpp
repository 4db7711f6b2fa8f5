#include "tools/lessons/sentences.h"

#include <algorithm>

namespace minigpt::lessons {
namespace {

using Words = std::vector<std::string>;

const Words kAnimals = {"cat",  "dog", "mouse", "horse", "lamb", "goat",
                        "bear", "fox", "hen",   "duck",  "cow",  "pig"};
const Words kPlaces = {"mat",   "sofa", "rug",   "bed",  "straw", "chair",
                       "bench", "box",  "shelf", "wall", "grass", "cushion"};
const Words kVerbs = {"sat", "slept", "lay", "rested", "stayed"};
const Words kPrepositions = {"on", "near", "behind", "under"};
const Words kOften = {"often", "always", "never"};
const Words kOfAnimals = {"tired", "hungry", "sleepy", "ill", "afraid", "lazy"};
const Words kOfPlaces = {"comfortable", "soft", "wide", "clean", "dry", "flat"};
const Words kNames = {"Mary", "Tom", "Anna", "Paul", "Lucy", "Jack",
                      "Ida",  "Max", "Rose", "Ben",  "Eva",  "Leo"};
const Words kSizes = {"little", "big", "young", "shy"};
const Words kParts = {"fleece", "tail", "coat", "nose", "face", "back"};
const Words kColours = {"white", "black", "green", "red", "grey", "yellow"};
const Words kLike = {"snow", "coal", "moss", "blood", "ash", "gold"};  // of the colour at the same place
const Words kOthers = {"The", "the", "because", "it", "was", "very", "had", "a", "whose", "as", "."};

std::size_t draw(std::size_t count, Generator& rng) {
  return static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(count)));
}
const std::string& draw(const Words& words, Generator& rng) { return words[draw(words.size(), rng)]; }
bool one_in(std::int64_t n, Generator& rng) { return rng.randint(0, n) == 0; }

// Two numbers below 12. A quarter of all pairs is never trained on, (0, 0) and (0, 4) among them.
std::pair<std::size_t, std::size_t> draw_pair(Generator& rng, bool seen) {
  for (;;) {
    const std::size_t a = draw(12, rng), b = draw(12, rng);
    if (((a + b) % 4 != 0) == seen) return {a, b};
  }
}

// A sentence that grows word by word.
struct Builder {
  Sentence s;
  Builder& operator()(std::string word, std::string answer = "") {
    s.words.push_back(std::move(word));
    s.answers.push_back(std::move(answer));
    return *this;
  }
};

Sentence pronoun_sentence(const std::string& animal, const std::string& often, const std::string& verb,
                          const std::string& preposition, const std::string& place, bool very,
                          const std::string& reason) {
  const bool of_place = std::find(kOfPlaces.begin(), kOfPlaces.end(), reason) != kOfPlaces.end();
  const std::string& meant = of_place ? place : animal;
  Builder build;
  build("The")(animal);
  if (!often.empty()) build(often);
  build(verb)(preposition)("the")(place)("because")("it", meant)("was");
  if (very) build("very");
  return build(reason, meant)(".", animal).s;
}

Sentence snow_sentence(const std::string& name, bool very, const std::string& size, const std::string& animal,
                       const std::string& part, bool as, std::size_t colour) {
  Builder build;
  build(name)("had")("a");
  if (very) build("very");
  if (!size.empty()) build(size);
  build(animal)("whose", animal)(part)("was");
  if (as) build("as");
  return build(kColours[colour])("as")(kLike[colour], part)(".", name).s;
}

}  // namespace

Sentence pronoun_sentence(Generator& rng, bool seen) {
  const auto pair = draw_pair(rng, seen);
  const std::string often = one_in(2, rng) ? draw(kOften, rng) : "";
  const std::string& verb = draw(kVerbs, rng);
  const std::string& preposition = draw(kPrepositions, rng);
  const bool very = one_in(2, rng);
  const std::string& reason = draw(one_in(2, rng) ? kOfPlaces : kOfAnimals, rng);
  return pronoun_sentence(kAnimals[pair.first], often, verb, preposition, kPlaces[pair.second], very, reason);
}

Sentence snow_sentence(Generator& rng, bool seen) {
  const auto pair = draw_pair(rng, seen);
  const std::string size = one_in(3, rng) ? "" : draw(kSizes, rng);
  const bool very = !size.empty() && one_in(2, rng), as = one_in(2, rng);
  const std::string& part = draw(kParts, rng);
  return snow_sentence(kNames[pair.first], very, size, kAnimals[pair.second], part, as,
                       draw(kColours.size(), rng));
}

std::vector<Sentence> draw_sentences(int count, bool seen, Generator& rng) {
  std::vector<Sentence> sentences;
  for (int i = 0; i < count; ++i)
    sentences.push_back(i % 2 == 0 ? pronoun_sentence(rng, seen) : snow_sentence(rng, seen));
  return sentences;
}

Sentence cat_sentence(const std::string& reason) {
  return pronoun_sentence("cat", "", "sat", "on", "mat", false, reason);
}

Sentence mary_sentence() { return snow_sentence("Mary", false, "little", "lamb", "fleece", false, 0); }

std::vector<std::string> all_words() {
  Words all;
  for (const Words* list : {&kOthers, &kAnimals, &kPlaces, &kVerbs, &kPrepositions, &kOften, &kOfAnimals,
                            &kOfPlaces, &kNames, &kSizes, &kParts, &kColours, &kLike})
    all.insert(all.end(), list->begin(), list->end());
  return all;
}

}  // namespace minigpt::lessons
