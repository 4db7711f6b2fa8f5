#pragma once
// Hessian-vector products: how the gradient changes along a direction, without ever forming the matrix of second derivatives.

#include <vector>

#include "autograd/variable.h"

namespace minigpt {

// (H v)_i = d(sum_j g_j . v_j)/dx_i,   g_j = d(scalar)/dx_j,   H_ij = d^2(scalar)/dx_i dx_j
// One backward pass that is recorded, and one more through it: about the cost of four forward passes, for any number of
// parameters.   scalar: one element   inputs: leaves or inner values it depends on   vectors: one per input, of its shape and
// dtype   ->   one tensor per input, zeros where the gradient does not depend on it
// The graph of `scalar` is kept, no grad() is touched. Pearlmutter 1994, "Fast Exact Multiplication by the Hessian".
// Throws Error where counts, shapes or dtypes differ, and as grad() of autograd/engine.h does.
std::vector<Tensor> hessian_vector_product(const Variable& scalar, const std::vector<Variable>& inputs,
                                           const std::vector<Tensor>& vectors);

}  // namespace minigpt
