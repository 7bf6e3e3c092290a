#include "server/document_fit.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/report_builder.h"

namespace edgekiln::server {
namespace {

std::string TextOf(const v1::QuantizationNeeds& needs) {
  const std::string text = QuantizationText(needs);
  return text.empty() ? "nothing in particular" : text;
}

}  // namespace

absl::Status CheckDocumentNeeds(const v1::NetworkOrigin& document,
                                const v1::QuantizationNeeds& needs,
                                absl::string_view target_name) {
  using google::protobuf::util::MessageDifferencer;
  if (!document.has_quantized_for() ||
      MessageDifferencer::Equals(document.quantized_for(), needs)) {
    return absl::OkStatus();
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "DOCUMENT_NEEDS",
       .what = "the document is quantized for chips with other arithmetic",
       .where = absl::StrCat("target ", target_name),
       .limit =
           absl::StrCat("quantized for: ", TextOf(document.quantized_for())),
       .need = absl::StrCat("the target needs: ", TextOf(needs)),
       .fix = "compile from the model"});
}

}  // namespace edgekiln::server
