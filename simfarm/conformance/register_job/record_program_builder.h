#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAM_BUILDER_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAM_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance::register_job {

// Registers of the window of all chips that have records.
constexpr uint32_t kStartRegister = 0x00;
constexpr uint32_t kStatusRegister = 0x0c;

// The bytes of words of four, each reversed. A multiple of 4 bytes.
std::string ReversedWords(const std::string& bytes);

// Where things lie: in the host's memory, the first, but for `local_in`, in the
// engine's own, the second.
struct RecordProgramPlaces {
  uint64_t constants = 0;
  uint64_t input = 0;
  uint64_t room = 0;  // Of bytes that are reversed.
  uint64_t output = 0;
  uint64_t local_in = 0;
  size_t record_words = 0;
  int32_t engine = 0;  // Of all jobs.
  int64_t memory_bytes = 4096;
};

// Writes programs by hand for an engine that has a record and reads words of
// four reversed bytes. The chip's first link is the mover; all memories have
// one size.
class RecordProgramBuilder {
 public:
  RecordProgramBuilder(const v1::Machine& machine,
                       const RecordProgramPlaces& places,
                       std::initializer_list<const char*> layers,
                       std::string input);

  // The host reverses the input, and the mover takes it to `local_in`.
  void Load(int64_t bytes, int32_t layer);
  // The same, back to the output.
  void Store(uint64_t from, int64_t bytes, int32_t layer);
  // The start comes last. Words that are not given are 0.
  void Write(
      uint64_t record, std::vector<uint32_t> words,
      std::initializer_list<std::pair<uint32_t, uint32_t>> register_writes,
      int32_t layer);
  void Poll(int32_t layer);

  ProgramCase Finish(std::string constants);

 private:
  struct End {
    int32_t memory = 0;
    uint64_t address = 0;
    int32_t reversed_bytes = 0;
  };
  void Move(int32_t link, const End& from, const End& to, int64_t bytes,
            int32_t layer);
  int32_t Dense(int64_t bytes, int32_t reversed_bytes);
  void Bind(uint64_t address, int64_t bytes, v1::Program::Binding& binding);

  RecordProgramPlaces places_;
  ProgramCase case_;
};

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_RECORD_PROGRAM_BUILDER_H_
