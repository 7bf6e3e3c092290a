#ifndef EK_CLIENT_RENDER_HOST_LAYERS_H_
#define EK_CLIENT_RENDER_HOST_LAYERS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

// The layers that no engine took, by the reason. Not thread-safe.
namespace edgekiln::client {

class HostLayers {
 public:
  // `reason` without the details of one layer; see CommonReason().
  void Add(absl::string_view id, absl::string_view reason);

  // "add_8, add_9: array needs operands that are activations", one text per
  // reason, in the order of their first layers. Long lists are shortened.
  std::vector<std::string> Lines() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_HOST_LAYERS_H_
