#pragma once
// Cosine. It stands beside the sine, because each is the other's derivative.

#include "autograd/ops/sin.h"
