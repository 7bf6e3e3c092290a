#ifndef EK_SERVER_COMMAND_LINE_H_
#define EK_SERVER_COMMAND_LINE_H_

// What the command lines of edgekilnd and edgekiln-worker have in common.

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"

namespace edgekiln::server {

// How values of options of AddSize() are written; for the end of the help.
extern const char kSizeRule[];

// An option whose value is a size, as everywhere (base/quantity.h): "500MB" are
// 500 000 000 bytes, "500MiB" 524 288 000.
template <typename Bytes>
CLI::Option* AddSize(CLI::App& app, const std::string& name, Bytes& bytes,
                     const std::string& help);

// Wraps what the options say of themselves. To be called after the last one was
// added.
void WrapOptions(CLI::App& app);

// From here on, how it is done.

// Turns a size as it is written into a number of bytes.
CLI::Validator SizeReader(const std::string& name);

template <typename Bytes>
CLI::Option* AddSize(CLI::App& app, const std::string& name, Bytes& bytes,
                     const std::string& help) {
  return app.add_option(name, bytes, help)
      ->type_name("SIZE")
      ->transform(SizeReader(name));
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_COMMAND_LINE_H_
