#ifndef EK_CLIENT_RENDER_QUANTIZATION_H_
#define EK_CLIENT_RENDER_QUANTIZATION_H_

// A QuantizationReport for people. Pure. Ratios are of signal to noise, in
// decibels: each 6 dB less doubles the error.

#include <string>
#include <utility>
#include <vector>

#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// A row for each layer; columns that say nothing of any layer are left out.
std::string RenderQuantizedLayers(const v1::QuantizationReport& quantized,
                                  const Style& style);

// The layers that cost the network's output most, each quantized alone; empty
// where no ranking was made.
std::string RenderCostliest(const v1::QuantizationReport& quantized,
                            const Style& style);

// Which forms layers could have, and which they got; empty where the target's
// engines take one.
std::string RenderChoice(const v1::SchemeChoice& choice, const Style& style);

// "98 304 cycles predicted ..": what the choice comes to; empty likewise.
std::string ChoiceText(const v1::SchemeChoice& choice);

// "32.1 dB of signal to noise, on 200 samples"; empty without samples.
std::string QuantizedOutputText(const v1::QuantizationReport& quantized);

// Layers that stay float, grouped by the reason: "softmax_9: why".
std::vector<std::string> FloatLayerLines(
    const v1::QuantizationReport& quantized);

// One model by several methods, a row each: name and report.
std::string RenderMethods(
    const std::vector<std::pair<std::string, v1::Report>>& methods,
    const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_QUANTIZATION_H_
