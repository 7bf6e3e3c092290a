#ifndef EK_CLIENT_LSP_TEXT_FILES_H_
#define EK_CLIENT_LSP_TEXT_FILES_H_

#include <memory>
#include <string>

#include "base/file.h"
#include "client/local_blob.h"

namespace edgekiln::client::lsp {

// The files of `base`, and one text that lies in memory, so that what uploads
// files uploads what an editor has not saved, too. Not thread-safe.
class TextFiles : public FileSystem {
 public:
  // In place of an earlier one. What it returns can be uploaded until the next
  // call.
  virtual LocalBlob Put(std::string text) = 0;
};

// `base` must outlive the result.
std::unique_ptr<TextFiles> NewTextFiles(FileSystem& base);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_TEXT_FILES_H_
