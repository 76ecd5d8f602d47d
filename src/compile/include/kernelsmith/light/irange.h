// c10::irange: 0, 1, ... n - 1 in a for loop.
#pragma once

#include "all.h"

namespace c10 {
template <typename I>
class integer_range {
 public:
  class iterator {
   public:
    C10_HOST_DEVICE explicit iterator(I i) : i_(i) {}
    C10_HOST_DEVICE I operator*() const { return i_; }
    C10_HOST_DEVICE iterator& operator++() { return ++i_, *this; }
    C10_HOST_DEVICE bool operator!=(const iterator& other) const { return i_ < other.i_; }

   private:
    I i_;
  };
  C10_HOST_DEVICE integer_range(I first, I last) : first_(first), last_(last) {}
  C10_HOST_DEVICE iterator begin() const { return iterator(first_); }
  C10_HOST_DEVICE iterator end() const { return iterator(last_); }

 private:
  I first_, last_;
};
template <typename A, typename B>
C10_HOST_DEVICE integer_range<B> irange(A first, B last) {
  return {static_cast<B>(first), last};
}
template <typename I>
C10_HOST_DEVICE integer_range<I> irange(I last) {
  return {I(), last};
}
}  // namespace c10
