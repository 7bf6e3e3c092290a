// Which accesses of the two units the simulator takes for races.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"
#include "simfarm/simulators/dla/testing/stream_case.h"

namespace edgekiln::simfarm::dla {
namespace {

class StreamRaceTest : public testing::TestWithParam<Case> {};

TEST_P(StreamRaceTest, IsNamed) { ExpectSaid(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, StreamRaceTest,
    testing::ValuesIn(std::vector<Case>{
        {"ReadsWhatIsBeingLoaded",
         "race: reads a byte while DMA command number 1 of the stream may "
         "still write it; where: command 15 (OP_ACT_RELU), SRAM 0x0",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Relu(w, 0);
           w.End();
         }},
        {"WaitsForTooFew", "may still write it",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 4, 4);
           Dma(w, words::kDmaRead, 0, 0, 0, 4);
           Relu(w, 1);
           w.End();
         }},
        {"WaitsAddUp", "",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Relu(w, 1, 0, 100);
           Relu(w, 0, 0, 200);
           Relu(w, 0, 200, 300);
           Dma(w, words::kDmaWrite, 3, kRam, 300, 8);
           w.End();
         }},
        {"StoresWhatIsBeingComputed",
         "race: reads a byte while compute command",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Relu(w, 1);
           Dma(w, words::kDmaWrite, 0, kRam, 107, 1);
           w.End();
         }},
        {"OverwritesWhatIsBeingRead",
         "race: writes a byte while compute command",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Relu(w, 1);
           Dma(w, words::kDmaRead, 0, 0, 7, 1);
           w.End();
         }},
        {"OverwritesWhatIsBeingStored", "race: writes a byte while DMA command",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Dma(w, words::kDmaRead, 0, 0, 100, 8);
           Dma(w, words::kDmaWrite, 0, kRam, 100, 8);
           Relu(w, 2);
           w.End();
         }},
        {"OverwritesWhatWasStored", "",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Dma(w, words::kDmaRead, 0, 0, 100, 8);
           Dma(w, words::kDmaWrite, 0, kRam, 100, 8);
           Relu(w, 3);
           w.End();
         }},
        {"NeighboursDoNotRace", "",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Relu(w, 1);
           Dma(w, words::kDmaRead, 0, 0, 8, 4);
           Dma(w, words::kDmaRead, 0, 0, 108, 4);
           w.End();
         }},
        {"InPlace", "",
         [](StreamWriter& w) {
           Dma(w, words::kDmaRead, 0, 0, 0, 8);
           Relu(w, 1, 0, 0);
           w.End();
         }}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::simfarm::dla
