#ifndef EK_SERVER_DAEMON_JOBS_WAL_CHECK_H_
#define EK_SERVER_DAEMON_JOBS_WAL_CHECK_H_

// SQLite reads its write-ahead log up to the first frame whose checksum is
// wrong, and takes that for the end: after a crash it often is. Where bits were
// lost the transactions behind it are gone without a word. This looks before
// SQLite does. The format: https://www.sqlite.org/fileformat2.html#walformat.

#include <cstdint>
#include <string>

namespace edgekiln::server {

struct WalCheck {
  // Transactions that SQLite will find, and those behind a damaged frame or
  // header. The last of the latter may never have been acknowledged: a machine
  // that loses power while it is written leaves the same behind. There is no
  // such doubt about the others: each is durable before the next is begun.
  int64_t sound = 0;
  int64_t lost = 0;
};

// `path`: of the log. One that cannot be read has no transactions.
WalCheck CheckWal(const std::string& path);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WAL_CHECK_H_
