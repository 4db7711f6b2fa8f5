// oneDNN through its C interface, declared here as far as it is used: versions 2 and 3 differ in how a matrix is
// described and a product planned, and agree in the rest. Reference: oneDNN Developer Guide, "Matrix Multiplication".

#include <dlfcn.h>

#include <array>
#include <cstddef>

#include "tools/bench/contender.h"

namespace minigpt::tools {
namespace {

using Dim = std::int64_t;
using Handle = void*;
struct Argument {
  int index;
  Handle memory;
};

constexpr int kF32 = 3, kBf16 = 2, kCpu = 1, kInOrder = 1, kAnyLayout = 1, kQueryWeights = 131;
constexpr int kSource = 1, kDestination = 17, kWeights = 33;

// Each member points to the function of the same name, or is null.
struct Api {
  int (*sgemm)(char, char, Dim, Dim, Dim, float, const float*, Dim, const float*, Dim, float, float*, Dim);
  int (*engine_create)(Handle*, int kind, std::size_t index);
  int (*stream_create)(Handle*, Handle engine, unsigned flags);
  int (*stream_wait)(Handle);
  int (*memory_create)(Handle*, const void* description, Handle engine, void* data);
  int (*primitive_create)(Handle*, Handle plan);
  int (*primitive_execute)(Handle, Handle stream, int count, const Argument*);
  const void* (*primitive_desc_query_md)(Handle plan, int what, int index);
  int (*reorder_primitive_desc_create)(Handle*, const void* from, Handle engine, const void* to, Handle,
                                       Handle);
  std::size_t (*memory_desc_get_size)(const void*);
  // Version 2: descriptions are structures of the caller.
  int (*memory_desc_init_by_strides)(void*, int dims, const Dim*, int type, const Dim* strides);
  int (*memory_desc_init_by_tag)(void*, int dims, const Dim*, int type, int tag);
  int (*matmul_desc_init)(void*, const void* a, const void* b, const void* bias, const void* c);
  int (*primitive_desc_create)(Handle*, const void* operation, Handle attributes, Handle engine, Handle hint);
  // Version 3: descriptions are objects of the library.
  int (*memory_desc_create_with_strides)(Handle*, int dims, const Dim*, int type, const Dim* strides);
  int (*memory_desc_create_with_tag)(Handle*, int dims, const Dim*, int type, int tag);
  int (*matmul_primitive_desc_create)(Handle*, Handle engine, const void* a, const void* b, const void* bias,
                                      const void* c, Handle attributes);
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

Api find_all(void* library) {
  Api api{};
  find(library, "dnnl_sgemm", api.sgemm);
  find(library, "dnnl_engine_create", api.engine_create);
  find(library, "dnnl_stream_create", api.stream_create);
  find(library, "dnnl_stream_wait", api.stream_wait);
  find(library, "dnnl_memory_create", api.memory_create);
  find(library, "dnnl_primitive_create", api.primitive_create);
  find(library, "dnnl_primitive_execute", api.primitive_execute);
  find(library, "dnnl_primitive_desc_query_md", api.primitive_desc_query_md);
  find(library, "dnnl_reorder_primitive_desc_create", api.reorder_primitive_desc_create);
  find(library, "dnnl_memory_desc_get_size", api.memory_desc_get_size);
  find(library, "dnnl_memory_desc_init_by_strides", api.memory_desc_init_by_strides);
  find(library, "dnnl_memory_desc_init_by_tag", api.memory_desc_init_by_tag);
  find(library, "dnnl_matmul_desc_init", api.matmul_desc_init);
  find(library, "dnnl_primitive_desc_create", api.primitive_desc_create);
  find(library, "dnnl_memory_desc_create_with_strides", api.memory_desc_create_with_strides);
  find(library, "dnnl_memory_desc_create_with_tag", api.memory_desc_create_with_tag);
  find(library, "dnnl_matmul_primitive_desc_create", api.matmul_primitive_desc_create);
  return api;
}

// Room for a structure whose size the caller need not know: version 2 takes some 700 bytes for a matrix and four of
// these and a little for a product.
template <std::size_t Bytes>
struct alignas(64) Room {
  std::array<std::byte, Bytes> bytes{};
};

// What oneDNN makes lives as long as the process, which serves nothing but this measurement.
class OneDnn final : public Contender {
 public:
  explicit OneDnn(const Api& api) : api_(api) {
    usable_ = api.engine_create && api.stream_create && api.engine_create(&engine_, kCpu, 0) == 0 &&
              api.stream_create(&stream_, engine_, kInOrder) == 0;
  }

  Multiply prepare(std::string_view way, const Product& p, const Operands& operands) override {
    if (way == "sgemm") return p.dtype == "f32" && api_.sgemm ? sgemm(p, operands) : Multiply();
    return usable_ ? matmul(p, operands, way == "packed") : Multiply();
  }

 private:
  Multiply sgemm(const Product& p, const Operands& operands) const {
    return [p, operands, f = api_.sgemm] {
      f(p.transposed_a() ? 'T' : 'N', p.transposed_b() ? 'T' : 'N', p.m, p.n, p.k, 1.0F,
        static_cast<const float*>(operands.a), p.transposed_a() ? p.m : p.k,
        static_cast<const float*>(operands.b), p.transposed_b() ? p.k : p.n, 0.0F, operands.c, p.n);
    };
  }

  // The description of a (rows, cols) matrix, stored as it is or transposed, or as the library likes; null on failure.
  void* describe(Dim rows, Dim cols, int type, bool transposed, bool any) {
    const std::array<Dim, 12> dims{rows, cols};
    const std::array<Dim, 12> strides{transposed ? 1 : cols, transposed ? rows : 1};
    void* description = nullptr;
    if (api_.memory_desc_create_with_strides) {
      const int status =
          any ? api_.memory_desc_create_with_tag(&description, 2, dims.data(), type, kAnyLayout)
              : api_.memory_desc_create_with_strides(&description, 2, dims.data(), type, strides.data());
      return status == 0 ? description : nullptr;
    }
    description = new Room<4096>;
    const int status =
        any ? api_.memory_desc_init_by_tag(description, 2, dims.data(), type, kAnyLayout)
            : api_.memory_desc_init_by_strides(description, 2, dims.data(), type, strides.data());
    return status == 0 ? description : nullptr;
  }

  bool plan_product(const void* a, const void* b, const void* c, Handle& plan) {
    if (api_.matmul_primitive_desc_create)
      return api_.matmul_primitive_desc_create(&plan, engine_, a, b, nullptr, c, nullptr) == 0;
    auto* operation = new Room<16384>;
    return api_.matmul_desc_init(operation, a, b, nullptr, c) == 0 &&
           api_.primitive_desc_create(&plan, operation, nullptr, engine_, nullptr) == 0;
  }

  // Copies the weights into the layout that the product wants; null on failure.
  Handle packed_weights(const void* from, const void* to, const void* data) {
    Handle plain = nullptr, packed = nullptr, plan = nullptr, reorder = nullptr;
    const std::size_t bytes = api_.memory_desc_get_size(to);
    void* room = ::operator new(bytes, std::align_val_t(64));
    if (api_.memory_create(&plain, from, engine_, const_cast<void*>(data)) != 0 ||
        api_.memory_create(&packed, to, engine_, room) != 0 ||
        api_.reorder_primitive_desc_create(&plan, from, engine_, to, engine_, nullptr) != 0 ||
        api_.primitive_create(&reorder, plan) != 0)
      return nullptr;
    const std::array<Argument, 2> arguments{{{kSource, plain}, {kDestination, packed}}};
    const bool done =
        api_.primitive_execute(reorder, stream_, 2, arguments.data()) == 0 && api_.stream_wait(stream_) == 0;
    return done ? packed : nullptr;
  }

  Multiply matmul(const Product& p, const Operands& operands, bool packed) {
    const int type = p.dtype == "bf16" ? kBf16 : kF32;
    void* a = describe(p.m, p.k, type, p.transposed_a(), false);
    void* b = describe(p.k, p.n, type, p.transposed_b(), false);
    void* wanted_b = packed ? describe(p.k, p.n, type, false, true) : b;
    void* c = describe(p.m, p.n, kF32, false, false);
    Handle plan = nullptr, product = nullptr;
    if (!a || !b || !wanted_b || !c || !plan_product(a, wanted_b, c, plan) ||
        api_.primitive_create(&product, plan) != 0)
      return {};
    std::array<Handle, 3> memory{};
    if (api_.memory_create(memory.data(), a, engine_, const_cast<void*>(operands.a)) != 0 ||
        api_.memory_create(&memory[2], c, engine_, operands.c) != 0)
      return {};
    if (packed)
      memory[1] = packed_weights(b, api_.primitive_desc_query_md(plan, kQueryWeights, 0), operands.b);
    else if (api_.memory_create(&memory[1], b, engine_, const_cast<void*>(operands.b)) != 0)
      return {};
    if (!memory[1]) return {};
    return [this, product, memory] {
      const std::array<Argument, 3> arguments{
          {{kSource, memory[0]}, {kWeights, memory[1]}, {kDestination, memory[2]}}};
      api_.primitive_execute(product, stream_, 3, arguments.data());
      api_.stream_wait(stream_);
    };
  }

  Api api_;
  Handle engine_ = nullptr, stream_ = nullptr;
  bool usable_ = false;
};

}  // namespace

std::unique_ptr<Contender> load_onednn(void* library) { return std::make_unique<OneDnn>(find_all(library)); }

}  // namespace minigpt::tools
