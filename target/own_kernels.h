#ifndef EK_TARGET_OWN_KERNELS_H_
#define EK_TARGET_OWN_KERNELS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/kernel_library.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

// The kernels that a target brings itself: `c_kernels` and `c_sources`
// (docs/c_kernels.md).
namespace edgekiln::target {

using KernelRows = google::protobuf::RepeatedPtrField<v1::CKernel>;
using KernelSources = google::protobuf::RepeatedPtrField<v1::CSourceTree::File>;

// Each row is valid (kernel_rows.h), calls a function of its own with a
// provenance for its costs, and that function's header is among `sources` if
// there are any. Both may be hostile; errors as of CheckKernelRow().
absl::Status CheckOwnKernels(const KernelRows& rows,
                             const KernelSources& sources);

// Whether C says #include "header" for that file, if the folders of all headers
// and those above them are searched.
bool IsIncludedAs(absl::string_view path, absl::string_view header);

}  // namespace edgekiln::target

#endif  // EK_TARGET_OWN_KERNELS_H_
