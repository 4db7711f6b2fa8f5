// Faults of the engine itself: how the gradients of several uses come together.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

// What has arrived so far is forgotten when the next share arrives.
void inner_overwritten(const Step& s) {
  for (int i = 0; i < s.grads.size(); ++i)
    if (s.has(i) && s.node.inputs[i].node) s.node.inputs[i].node->pending = Variable();
}

void leaf_overwritten(const Step& s) {
  for (int i = 0; i < s.grads.size(); ++i)
    if (s.has(i) && s.node.inputs[i].leaf) s.node.inputs[i].leaf->pending = Variable();
}

}  // namespace

extern const Mutant kInnerOverwritten = {
    .at = "*",
    .title = {"A GPT gets stuck near the frequencies of single characters; its lower layers get hardly any "
              "gradient.",
              "GPT 停在单个字符的频率附近；下面的层几乎得不到梯度。"},
    .right = "a value used in several places gets the sum of their gradients",
    .wrong = "a value used in several places gets the gradient that arrives last",
    .find = {"grad = g in place of grad += g. The residual stream is used twice in every block, by the "
             "branch and by the sum, so most of the gradient is lost on the way down. gradcheck: the last "
             "norm and the read-out are right, everything before the last branch wrong.",
             "把 grad += g 写成了 grad = g。残差流在每个块里用两次（分支和相加），往下传时大部分梯度都丢了"
             "。gradcheck：最后的归一化和输出层对，最后一个分支之前的都不对。"},
    .names =
        "accumulation|accumulate|engine|backward|shared|shared node|gradient accumulation|residual|累加|"
        "引擎|反向|共享|残差",
    .fault =
        "overwr|instead of add|not added|not add|last|assign|sum|several|twice|missing|forg|覆盖|最后|赋"
        "值|求和|多次|漏",
    .backward = inner_overwritten,
};

extern const Mutant kLeafOverwritten = {
    .at = "*",
    .task = Task::net,
    .title = {"A classifier learns as ever; two of its tensors, and they alone, have the wrong gradient.",
              "分类器学得和平时一样；只有它的两个张量梯度不对。"},
    .right = "a parameter used in several places gets the sum of their gradients",
    .wrong = "a parameter used in several places gets the gradient that arrives last",
    .find = {"Only parameters that are used more than once are wrong (tied or shared weights). gradcheck "
             "names exactly those.",
             "只有用了不止一次的参数（绑定或共享的权重）不对。gradcheck 指出的正是它们。"},
    .names =
        "accumulation|accumulate|engine|backward|leaf|leaves|shared weight|shared|parameter|gradient "
        "accumulation|tied|累加|引擎|反向|叶子|共享|参数",
    .fault =
        "overwr|instead of add|not added|not add|last|assign|sum|several|twice|missing|forg|覆盖|最后|赋"
        "值|求和|多次|漏",
    .backward = leaf_overwritten,
};

}  // namespace minigpt::zoo
