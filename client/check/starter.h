#ifndef EK_CLIENT_CHECK_STARTER_H_
#define EK_CLIENT_CHECK_STARTER_H_

// The first project file of a folder.

#include <string>
#include <vector>

#include "base/file.h"

namespace edgekiln::client {

// A model below a folder, and the data sets that are its by their names. Paths
// are relative to the folder.
struct FoundModel {
  std::string file{};
  std::string calibration{};  // Empty: none was found. Likewise `data`.
  std::string data{};
};

struct FoundModels {
  std::vector<FoundModel> models;     // By file.
  std::vector<std::string> warnings;  // What was left out, and why.
};

// Finds .onnx and .tflite files in `folder` and below it, not in hidden folders
// and `node_modules`; each folder once, and by its own name rather than by that
// of a link to it. Of NET.onnx the data sets are NET_calibration.npz and
// NET_test.npz beside it, or calibration.npz and test.npz, which are of all
// models beside them; other words for both, and '-' and '.' for '_', are known.
FoundModels FindModels(FileSystem& files, const std::string& folder);

// Whether accuracy can be measured: a float model without calibration has
// ranges from random inputs.
bool HasAccuracy(const FoundModel& model);

struct StarterTarget {
  std::string name{};  // Of a file: empty.
  std::string file{};
};

// A project file with these models, which explains itself in comments. It
// names test data of models that HasAccuracy() alone.
std::string StarterText(const std::vector<FoundModel>& models,
                        const std::vector<StarterTarget>& targets);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_STARTER_H_
