#include "tests/bench/onnxruntime.h"

#include <dlfcn.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_macros.h"

namespace edgekiln::bench {
namespace {

// Places in the table of functions, as its header lists them.
enum Slot : size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetOptimizedModelFilePath = 11,
  kSetGraphOptimizationLevel = 23,
  kSetIntraOpNumThreads = 24,
  kSetInterOpNumThreads = 25,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputTypeInfo = 33,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateTensorWithData = 49,
  kGetTensorMutableData = 51,
  kCastTypeInfoToTensorInfo = 55,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kCreateCpuMemoryInfo = 69,
  kGetDefaultAllocator = 78,
  kReleaseStatus = 93,
  kReleaseSession = 95,
  kReleaseValue = 96,
};
// The first version that has all of them.
constexpr uint32_t kApiVersion = 1;

constexpr int kLogErrors = 3;
constexpr int kOptimizeAll = 99;
constexpr int kArenaAllocator = 1;
constexpr int kDefaultMemory = 0;

struct ApiBase {
  const void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

// Calls into the table.
class Api {
 public:
  explicit Api(const void* const* table) : table_(table) {}

  // Functions that return a status object: null is success.
  template <typename... Arguments>
  absl::Status Call(Slot slot, Arguments... arguments) const {
    using Function = void* (*)(Arguments...);
    void* const status = reinterpret_cast<Function>(
        const_cast<void*>(table_[slot]))(arguments...);
    if (status == nullptr) return absl::OkStatus();
    using Message = const char* (*)(const void*);
    const std::string message = reinterpret_cast<Message>(
        const_cast<void*>(table_[kGetErrorMessage]))(status);
    Release(kReleaseStatus, status);
    return absl::InternalError(absl::StrCat("ONNX Runtime: ", message));
  }

  void Release(Slot slot, void* object) const {
    using Function = void (*)(void*);
    if (object != nullptr) {
      reinterpret_cast<Function>(const_cast<void*>(table_[slot]))(object);
    }
  }

 private:
  const void* const* table_;
};

// Bytes of an element by ONNX element type; 0 for those nobody needs here.
int64_t BytesOf(int element_type) {
  switch (element_type) {
    case 1:  // float
    case 6:  // int32
      return 4;
    case 2:  // uint8
    case 3:  // int8
      return 1;
    case 7:  // int64
      return 8;
    default:
      return 0;
  }
}

class Model final : public OnnxRuntimeModel {
 public:
  Model(const Api& api, void* session) : api_(api), session_(session) {}
  ~Model() override {
    ReleaseOutputs();
    for (void* const value : values_) api_.Release(kReleaseValue, value);
    api_.Release(kReleaseSession, session_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  absl::Status Prepare() {
    void* allocator = nullptr;
    EK_RETURN_IF_ERROR(api_.Call(kGetDefaultAllocator, &allocator));
    size_t count = 0;
    EK_RETURN_IF_ERROR(api_.Call(kSessionGetOutputCount, session_, &count));
    for (size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      EK_RETURN_IF_ERROR(
          api_.Call(kSessionGetOutputName, session_, i, allocator, &name));
      output_names_.push_back(name);
    }
    outputs_.resize(count, nullptr);
    EK_RETURN_IF_ERROR(api_.Call(kSessionGetInputCount, session_, &count));
    buffers_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      EK_RETURN_IF_ERROR(
          api_.Call(kSessionGetInputName, session_, i, allocator, &name));
      input_names_.push_back(name);
      EK_RETURN_IF_ERROR(AddInput(i), name);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> RunOn(
      const std::vector<std::string>& inputs,
      const std::vector<size_t>& output_bytes) override {
    if (inputs.size() != buffers_.size() ||
        output_bytes.size() != outputs_.size()) {
      return absl::InvalidArgumentError("other ports than the model's");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].size() != buffers_[i].size()) {
        return absl::InvalidArgumentError("an input of another size");
      }
      // In place: the session has the address.
      inputs[i].copy(buffers_[i].data(), inputs[i].size());
    }
    EK_RETURN_IF_ERROR(Run());
    std::vector<std::string> values;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      void* data = nullptr;
      EK_RETURN_IF_ERROR(api_.Call(kGetTensorMutableData, outputs_[i], &data));
      values.emplace_back(static_cast<const char*>(data), output_bytes[i]);
    }
    return values;
  }

  absl::Status Run() override {
    ReleaseOutputs();
    return api_.Call(kRun, session_, static_cast<const void*>(nullptr),
                     input_names_.data(), values_.data(), values_.size(),
                     output_names_.data(), output_names_.size(),
                     outputs_.data());
  }

 private:
  void ReleaseOutputs() {
    for (void*& output : outputs_) {
      api_.Release(kReleaseValue, std::exchange(output, nullptr));
    }
  }

  absl::Status AddInput(size_t index) {
    void* type = nullptr;
    EK_RETURN_IF_ERROR(
        api_.Call(kSessionGetInputTypeInfo, session_, index, &type));
    const void* tensor = nullptr;
    EK_RETURN_IF_ERROR(api_.Call(kCastTypeInfoToTensorInfo, type, &tensor));
    int element_type = 0;
    EK_RETURN_IF_ERROR(api_.Call(kGetTensorElementType, tensor, &element_type));
    size_t rank = 0;
    EK_RETURN_IF_ERROR(api_.Call(kGetDimensionsCount, tensor, &rank));
    std::vector<int64_t> shape(rank);
    EK_RETURN_IF_ERROR(api_.Call(kGetDimensions, tensor, shape.data(), rank));
    int64_t elements = 1;
    for (int64_t& extent : shape) {
      if (extent < 1) extent = 1;
      elements *= extent;
    }
    const int64_t width = BytesOf(element_type);
    if (width == 0) {
      return absl::UnimplementedError(
          absl::StrCat("input of element type ", element_type));
    }
    buffers_[index] = Values(elements, element_type, width);
    void* memory = nullptr;
    EK_RETURN_IF_ERROR(api_.Call(kCreateCpuMemoryInfo, kArenaAllocator,
                                 kDefaultMemory, &memory));
    void* value = nullptr;
    EK_RETURN_IF_ERROR(api_.Call(kCreateTensorWithData, memory,
                                 buffers_[index].data(), buffers_[index].size(),
                                 shape.data(), rank, element_type, &value));
    values_.push_back(value);
    return absl::OkStatus();
  }

  // Floats in 0 .. 1, bytes of any value, zeros otherwise.
  static std::string Values(int64_t elements, int type, int64_t width) {
    std::string bytes(static_cast<size_t>(elements * width), '\0');
    Rng rng(1);
    if (type == 1) {
      auto* const floats = reinterpret_cast<float*>(bytes.data());
      for (int64_t i = 0; i < elements; ++i) {
        floats[i] = static_cast<float>(rng.Next() >> 40) * 0x1p-24f;
      }
    } else if (width == 1) {
      for (char& byte : bytes) byte = static_cast<char>(rng.Next());
    }
    return bytes;
  }

  const Api& api_;
  void* session_;
  std::vector<const char*> input_names_;   // Kept for good.
  std::vector<const char*> output_names_;  // Kept for good.
  std::vector<std::string> buffers_;
  std::vector<void*> values_;
  std::vector<void*> outputs_;
};

class Runtime final : public OnnxRuntime {
 public:
  Runtime(const ApiBase& base, const void* const* table)
      : version_(base.get_version()), api_(table) {}

  absl::Status Prepare() {
    return api_.Call(kCreateEnv, kLogErrors, "bench", &environment_);
  }

  std::string version() const override { return version_; }

  absl::StatusOr<std::unique_ptr<OnnxRuntimeModel>> Open(
      absl::string_view model, const std::string& optimized_path) override {
    void* options = nullptr;
    EK_RETURN_IF_ERROR(api_.Call(kCreateSessionOptions, &options));
    EK_RETURN_IF_ERROR(api_.Call(kSetIntraOpNumThreads, options, 1));
    EK_RETURN_IF_ERROR(api_.Call(kSetInterOpNumThreads, options, 1));
    EK_RETURN_IF_ERROR(
        api_.Call(kSetGraphOptimizationLevel, options, kOptimizeAll));
    if (!optimized_path.empty()) {
      EK_RETURN_IF_ERROR(api_.Call(kSetOptimizedModelFilePath, options,
                                   optimized_path.c_str()));
    }
    void* session = nullptr;
    EK_RETURN_IF_ERROR(api_.Call(kCreateSessionFromArray, environment_,
                                 static_cast<const void*>(model.data()),
                                 model.size(), options, &session));
    auto out = std::make_unique<Model>(api_, session);
    EK_RETURN_IF_ERROR(out->Prepare());
    return out;
  }

 private:
  std::string version_;
  Api api_;
  void* environment_ = nullptr;  // Lives as long as the program.
};

}  // namespace

absl::StatusOr<std::unique_ptr<OnnxRuntime>> LoadOnnxRuntime(
    const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  using GetApiBase = const ApiBase* (*)();
  const auto get_base =
      reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) return absl::NotFoundError(dlerror());
  const ApiBase& base = *get_base();
  const void* const* const table = base.get_api(kApiVersion);
  if (table == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(library, " has no interface of version ", kApiVersion));
  }
  auto runtime = std::make_unique<Runtime>(base, table);
  EK_RETURN_IF_ERROR(runtime->Prepare());
  return runtime;
}

std::unique_ptr<OnnxRuntime> FindOnnxRuntime(const std::string& library,
                                             Results& results) {
  absl::StatusOr<std::unique_ptr<OnnxRuntime>> loaded =
      library.empty() ? absl::NotFoundError("no --onnxruntime")
                      : LoadOnnxRuntime(library);
  if (!loaded.ok()) {
    results.Note(absl::StrCat("absent: ONNX Runtime: ",
                              std::string(loaded.status().message())));
    return nullptr;
  }
  results.Note("ONNX Runtime " + (*loaded)->version());
  return *std::move(loaded);
}

}  // namespace edgekiln::bench
