#include "tests/pipeline/compiler_run.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {

absl::StatusOr<compiler::Graph> SimplifiedGraph(absl::string_view model) {
  EK_ASSIGN_OR_RETURN(compiler::Graph graph, compiler::ImportModel(model));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  return graph;
}

absl::StatusOr<compiler::Graph> QuantizedGraph(const FloatModel& model,
                                               ops::CpuPath path) {
  EK_ASSIGN_OR_RETURN(const compiler::Graph graph,
                      SimplifiedGraph(model.model));
  v1::ConvertDataOptions convert;
  convert.set_chunk_samples(8);
  convert.set_limit(model.samples);
  const absl::string_view files[] = {model.calibration};
  EK_ASSIGN_OR_RETURN(
      const compiler::ConvertedData data,
      compiler::ConvertDataSet(
          convert, files, compiler::InputsOf(compiler::GraphToProto(graph))));
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      compiler::Calibrate(graph, data.chunks, nullptr, path));
  EK_ASSIGN_OR_RETURN(compiler::QuantizedNetwork network,
                      compiler::Quantize(graph, v1::QuantizeOptions(),
                                         {.statistics = statistics,
                                          .samples = data.chunks,
                                          .cpu_path = path}));
  return std::move(network.graph);
}

absl::StatusOr<std::string> ProgramBytes(const compiler::Graph& graph,
                                         const v1::ResolvedTarget& target) {
  EK_ASSIGN_OR_RETURN(const compiler::EmitResult result,
                      CompileQuantized(graph, target));
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    result.program.SerializeToCodedStream(&coded);
  }
  return absl::StrCat(bytes, result.constants);
}

}  // namespace edgekiln::tests
