// torch::einsum as permutations and batched products, which is what PyTorch makes of it.
#include <algorithm>
#include <string>

#include "plan/host/light_runtime.h"

namespace at {
namespace {

using kernelsmith::light::ThrowUnsupported;

// A tensor with a letter for each dimension.
struct Term {
  std::string letters;
  Tensor tensor;
};

bool Has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

Tensor Permuted(const Term& term, const std::string& order) {
  std::vector<int64_t> dims;
  for (const char letter : order) {
    dims.push_back(static_cast<int64_t>(term.letters.find(letter)));
  }
  return term.tensor.permute(dims);
}

int64_t SizeOf(const Term& term, char letter) {
  return term.tensor.size(static_cast<int64_t>(term.letters.find(letter)));
}

int64_t Product(const Term& term, const std::string& letters) {
  int64_t product = 1;
  for (const char letter : letters) product *= SizeOf(term, letter);
  return product;
}

// Sums over the letters that nobody needs any more.
Term Summed(Term term, const std::string& needed) {
  std::vector<int64_t> dims;
  std::string rest;
  for (size_t i = 0; i < term.letters.size(); ++i) {
    if (Has(needed, term.letters[i])) {
      rest += term.letters[i];
    } else {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  if (!dims.empty()) term.tensor = term.tensor.sum(dims, false);
  term.letters = rest;
  return term;
}

// The product of two, with the letters of `needed` alone: those in both are the batch if needed
// and summed over if not.
Term Multiply(Term a, Term b, const std::string& needed) {
  a = Summed(a, needed + b.letters);
  b = Summed(b, needed + a.letters);
  std::string batch;
  std::string inner;
  std::string left;
  std::string right;
  for (const char letter : a.letters) {
    (!Has(b.letters, letter) ? left : Has(needed, letter) ? batch : inner) += letter;
  }
  for (const char letter : b.letters) {
    if (!Has(a.letters, letter)) right += letter;
  }
  for (const char letter : batch + inner) {
    TORCH_CHECK(SizeOf(a, letter) == SizeOf(b, letter), "einsum(): size of dimension ", letter,
                " does not match");
  }
  const int64_t batches = Product(a, batch);
  const Tensor x =
      Permuted(a, batch + left + inner).reshape({batches, Product(a, left), Product(a, inner)});
  const Tensor y =
      Permuted(b, batch + inner + right).reshape({batches, Product(b, inner), Product(b, right)});
  std::vector<int64_t> sizes;
  for (const char letter : batch + left) sizes.push_back(SizeOf(a, letter));
  for (const char letter : right) sizes.push_back(SizeOf(b, letter));
  return {batch + left + right, x.bmm(y).reshape(sizes)};
}

}  // namespace

Tensor einsum(const std::string& equation, TensorList tensors) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  if (text.find('.') != std::string::npos) ThrowUnsupported("torch::einsum with an ellipsis");
  const size_t arrow = text.find("->");
  std::vector<Term> terms;
  std::string inputs = text.substr(0, arrow) + ",";
  for (size_t at = 0; at < inputs.size();) {
    const size_t end = inputs.find(',', at);
    const std::string letters = inputs.substr(at, end - at);
    TORCH_CHECK(terms.size() < tensors.size(),
                "einsum(): more operands in the equation than given");
    const Tensor& tensor = tensors[terms.size()];
    TORCH_CHECK(tensor.dim() == static_cast<int64_t>(letters.size()), "einsum(): the subscripts ",
                letters, " do not match the operand's ", tensor.dim(), " dimensions");
    for (size_t i = 0; i < letters.size(); ++i) {
      if (letters.find(letters[i], i + 1) != std::string::npos) {
        ThrowUnsupported("torch::einsum with a letter twice in one operand");
      }
    }
    terms.push_back({letters, tensor});
    at = end + 1;
  }
  TORCH_CHECK(terms.size() == tensors.size(), "einsum(): more operands given than in the equation");
  std::string output;
  if (arrow != std::string::npos) {
    output = text.substr(arrow + 2);
  } else {
    // Without an arrow: the letters that stand once, in alphabetical order.
    for (const char c : text) {
      if (c != ',' && std::count(text.begin(), text.end(), c) == 1) output += c;
    }
    std::sort(output.begin(), output.end());
  }
  for (const char letter : output) {
    TORCH_CHECK(std::any_of(terms.begin(), terms.end(),
                            [&](const Term& term) { return Has(term.letters, letter); }),
                "einsum(): output subscript ", letter, " is in no operand");
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = output;
    for (size_t later = i + 1; later < terms.size(); ++later) needed += terms[later].letters;
    result = Multiply(result, terms[i], needed);
  }
  result = Summed(result, output);
  return Permuted(result, output);
}

Tensor one_hot(const Tensor& self, int64_t classes) {
  // Without a number the data decides about the shape.
  if (classes < 0) ThrowUnsupported("torch::one_hot without the number of classes");
  const Tensor numbers = arange(Scalar(classes), self.options());
  return self.unsqueeze(-1).eq(numbers).to(kLong);
}

}  // namespace at
