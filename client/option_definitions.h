#ifndef EK_CLIENT_OPTION_DEFINITIONS_H_
#define EK_CLIENT_OPTION_DEFINITIONS_H_

// What CLI11 is told: every command with its options and their help.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "client/command_line.h"

namespace edgekiln::client {

// What CLI11 fills in, before the option values are parsed further.
struct RawOptions {
  CommandLine line;
  std::string timeout;
  std::string queue_timeout;
  std::string interval;
  std::string run_timeout;
  std::string job_class;
  std::vector<std::string> inputs;
  std::string calibration_method;
  std::string accuracy_budget;
  std::string io;
  std::string offload;
  std::string compiler;
  std::string seed;
  std::vector<std::string> dimensions;
  std::vector<std::string> bound_inputs;
  std::vector<std::string> external_data;
  int64_t limit = 0;
  std::string max_cycles;
  std::string max_latency;
  std::vector<std::string> max_memory;
  std::string max_ram;
  std::string min_accuracy;
  std::string max_error;
  std::string max_disagreement;
  std::string metric;
  std::string max_regression;
  std::string max_accuracy_drop;
  int64_t label_offset = 0;
  std::string job_states;  // jobs list.
  std::string since;
  std::string export_format;
  std::string a;  // report diff.
  std::string b;
};

// `raw` is filled in when `root` parses; it must outlive it.
void DefineCommands(CLI::App& root, RawOptions& raw);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_OPTION_DEFINITIONS_H_
