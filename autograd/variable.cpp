#include "autograd/variable.h"

#include "autograd/node.h"

namespace minigpt {
namespace detail {

constinit thread_local bool recording_on = true;

VariableImpl::VariableImpl(Tensor&& v, Ref<Node>&& n, Ref<GradMeta>&& m)
    : value(std::move(v)), node(std::move(n)), meta(std::move(m)) {}

void GradMeta::destroy(GradMeta* meta) { delete meta; }
void VariableImpl::destroy(VariableImpl* impl) { delete impl; }

Variable VariableImpl::make(Tensor&& value, Ref<Node> node, Ref<GradMeta> meta) {
  return Variable(Ref<VariableImpl>(new VariableImpl(std::move(value), std::move(node), std::move(meta))));
}

}  // namespace detail

Variable::Variable(Tensor value, bool requires_grad) {
  check(value.defined(), "variable", "the tensor is undefined");
  impl_ = Ref<detail::VariableImpl>(new detail::VariableImpl(std::move(value), {}, {}));
  if (requires_grad) set_requires_grad(true);
}

void Variable::undefined(const char* what) { fail(what, "the variable is undefined"); }

bool Variable::is_leaf() const { return !impl("is_leaf").node; }
Node* Variable::node() const { return impl("node").node.get(); }

void Variable::set_requires_grad(bool on) {
  detail::VariableImpl& i = impl("requires_grad");
  check(!i.node, "requires_grad", "only leaves can be switched; this value was made by {}",
        i.node ? i.node->op : "");
  check(!on || is_floating(i.value.dtype()), "requires_grad",
        "only float32 and float64 have gradients, not {}", name_of(i.value.dtype()));
  if (!on) {
    if (i.meta) i.meta->leaf = false;
    return;
  }
  if (!i.meta) i.meta = Ref<detail::GradMeta>(new detail::GradMeta);
  i.meta->leaf = true;
}

bool Variable::has_grad() const {
  const detail::VariableImpl& i = impl("grad");
  return i.meta && i.meta->grad.defined();
}

const Variable& Variable::grad() const {
  const detail::VariableImpl& i = impl("grad");
  if (i.meta && i.meta->grad.defined()) return i.meta->grad;
  if (!requires_grad()) fail("grad", "this variable does not require a gradient");
  if (i.node && !(i.meta && i.meta->retain))
    fail("grad", "this value was made by {}; call retain_grad() before backward() to keep its gradient",
         i.node->op);
  fail("grad", "no gradient yet: backward() has not run, or did not reach this variable");
}

void Variable::set_grad(Variable gradient) {
  detail::VariableImpl& i = impl("grad");
  if (gradient.defined()) {
    check(gradient.shape() == shape() && gradient.dtype() == dtype(), "grad",
          "the gradient is {} {}, the variable {} {}", name_of(gradient.dtype()), gradient.shape(),
          name_of(dtype()), shape());
  }
  if (!i.meta && gradient.defined()) i.meta = Ref<detail::GradMeta>(new detail::GradMeta);
  if (i.meta) i.meta->grad = std::move(gradient);
}

static detail::GradMeta& shared_meta(detail::VariableImpl& i, const char* what) {
  check(i.node || (i.meta && i.meta->leaf), what, "this variable does not require a gradient");
  if (!i.meta) i.meta = Ref<detail::GradMeta>(new detail::GradMeta);
  if (i.node) i.node->meta = i.meta;
  return *i.meta;
}

void Variable::retain_grad() { shared_meta(impl("retain_grad"), "retain_grad").retain = true; }

void Variable::on_grad(GradHook hook) {
  shared_meta(impl("on_grad"), "on_grad").hooks.push_back(std::move(hook));
}

Variable Variable::detach() const { return Variable(value()); }

const char* Variable::name() const {
  const detail::VariableImpl& i = impl("name");
  return i.meta ? i.meta->name : "";
}

void Variable::set_name(const char* name) {
  detail::VariableImpl& i = impl("name");
  if (!i.meta) i.meta = Ref<detail::GradMeta>(new detail::GradMeta);
  i.meta->name = name;
}

void Variable::backward() const { backward(BackwardOptions{}); }

}  // namespace minigpt
