#ifndef EK_TARGET_KERNEL_ROWS_H_
#define EK_TARGET_KERNEL_ROWS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/kernel_library.pb.h"

// Rows of kernels of C code (docs/c_kernels.md), which may be hostile. Errors
// are INVALID_ARGUMENT TARGET_INVALID and name the row, the field and a fix.
namespace edgekiln::target {

// Names, types, indices and expressions of one row, which errors call `where`.
// Not whether its generator or its built-in function exists.
absl::Status CheckKernelRow(const v1::CKernel& row, const std::string& where);

// Errors of rows.
absl::Status InvalidKernel(std::string what, std::string where,
                           std::string fix);
absl::Status TooManyInKernel(int count, int limit, std::string where);

// Whether it can be the path of a header or source (base/source_path.h). Below
// a folder of a bundle it is short enough.
inline constexpr size_t kMaxKernelPathBytes = 200;
bool IsKernelPath(absl::string_view path);
inline constexpr char kKernelPathFix[] =
    "use a relative path of letters, digits, \"._-\", without a part that "
    "begins with \".\" or \"-\"";

}  // namespace edgekiln::target

#endif  // EK_TARGET_KERNEL_ROWS_H_
