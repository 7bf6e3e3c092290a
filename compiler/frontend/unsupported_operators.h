#ifndef EK_COMPILER_FRONTEND_UNSUPPORTED_OPERATORS_H_
#define EK_COMPILER_FRONTEND_UNSUPPORTED_OPERATORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Every operator of a model that no front end reads, in one error: models are
// not repaired one operator at a time.
namespace edgekiln::compiler {

// What stands for an operator that we do not read. `name` may end in "*".
struct Replacement {
  absl::string_view name;
  absl::string_view advice;  // "use ArgMax and Equal"
};

// The advice of the first row whose name fits; "" if there is none.
absl::string_view FindAdvice(absl::Span<const Replacement> rows,
                             absl::string_view name);

// Gathers operators by name, and writes the fields of the error. The texts fit
// kMaxErrorFieldBytes.
class UnsupportedOperators {
 public:
  // One node or op of the model. `place` says which one, `advice` what to use
  // instead, perhaps nothing; neither is asked more often than it is needed: a
  // hostile model has a hundred thousand operators.
  void Add(const std::string& name, absl::FunctionRef<std::string()> place,
           absl::FunctionRef<std::string()> advice);

  bool empty() const { return kinds_.empty(); }

  // "Foo: operator is not supported", or "3 operators are not supported: Foo (2
  // nodes), Bar, Baz". `unit` is what a model calls its operators: "node".
  std::string What(absl::string_view unit) const;
  // The place of the first, and how many there are.
  std::string Where(absl::string_view unit) const;
  // "Foo: use ArgMax and Equal; Bar: ..", or `otherwise` if none has advice.
  std::string Fix(absl::string_view otherwise) const;

 private:
  struct Kind {
    std::string name;
    std::string advice;
    int64_t count = 0;
  };
  std::vector<Kind> kinds_;  // In order of their first node.
  absl::flat_hash_map<std::string, size_t> index_;  // Into kinds_, by name.
  std::string first_place_;
  int64_t count_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_UNSUPPORTED_OPERATORS_H_
