#pragma once
// Everything that works element by element: arithmetic, functions of one tensor, comparisons.

#include "tensor/arithmetic.h"
#include "tensor/compare.h"
#include "tensor/unary.h"
