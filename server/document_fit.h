#ifndef EK_SERVER_DOCUMENT_FIT_H_
#define EK_SERVER_DOCUMENT_FIT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/network.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::server {

// Whether the network of a document is what would be compiled for a target with
// these needs: quantized for them, or not quantized by us. The user's error
// with reason DOCUMENT_NEEDS otherwise.
absl::Status CheckDocumentNeeds(const v1::NetworkOrigin& document,
                                const v1::QuantizationNeeds& needs,
                                absl::string_view target_name);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DOCUMENT_FIT_H_
