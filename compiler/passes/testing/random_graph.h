#ifndef EK_COMPILER_PASSES_TESTING_RANDOM_GRAPH_H_
#define EK_COMPILER_PASSES_TESTING_RANDOM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"

// For tests of passes: small valid graphs, the same for the same seed.
namespace edgekiln::compiler {

// Grows a graph op by op from tensors it already has. Derived classes add ops.
class RandomGraph {
 public:
  static constexpr int kMaxOps = 14;

  RandomGraph(uint64_t seed, bool quantized)
      : random_(seed), quantized_(quantized) {}

  virtual ~RandomGraph() = default;

  Graph Make();

 protected:
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_.Next() % static_cast<uint64_t>(n));
  }
  float Real() { return static_cast<float>(Below(33) - 16) / 8; }

  Quantization RandomQuantization();
  TensorId Add(Tensor tensor);
  TensorId Activation(std::vector<int64_t> shape);
  TensorId FloatConstant(std::vector<int64_t> shape, bool positive = false);

  // `channels` scales along `axis` where positive, else one.
  TensorId Constant(std::vector<int64_t> shape, int64_t channels = 0,
                    int axis = 0);

  // One that the graph has.
  TensorId Pick();
  const std::vector<int64_t>& Shape(TensorId id) {
    return graph_.tensors[id].shape;
  }

  // Adds the op if it takes these inputs; `moves` keeps the quantization.
  void Emit(v1::OpAttributes attributes, std::vector<TensorId> inputs,
            bool moves = false);
  void EmitTo(v1::OpAttributes attributes, std::vector<TensorId> inputs,
              std::vector<int64_t> shape, bool moves);

  v1::Window2d Window(int64_t max_pad);
  void RandomClamp(v1::Clamp* clamp);

  void AddTranspose(TensorId x);
  void AddConvolution(TensorId x);
  void AddPool(TensorId x);
  void AddBinary(TensorId x);
  void AddFullyConnected(TensorId x);
  void AddReshape(TensorId x);
  void AddPad(TensorId x);
  void AddAxisOp(TensorId x);
  void AddNormalization(TensorId x);

  // Adds one of the ops above, mostly to what was added last.
  virtual void AddRandomOp();

  Rng random_;
  const bool quantized_;
  Graph graph_;
  std::vector<TensorId> pool_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_TESTING_RANDOM_GRAPH_H_
