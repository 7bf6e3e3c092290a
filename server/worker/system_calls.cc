#include "server/worker/system_calls.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>

#include "server/worker/system_call_filter.h"

namespace edgekiln::server {
namespace {

// What computing takes, and dying: abort() sends itself a signal.
constexpr int kAllowed[] = {
    SCMP_SYS(brk),           SCMP_SYS(clock_getres),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(close),         SCMP_SYS(exit),
    SCMP_SYS(exit_group),    SCMP_SYS(futex),
    SCMP_SYS(getpid),        SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),     SCMP_SYS(gettid),
    SCMP_SYS(gettimeofday),  SCMP_SYS(madvise),
    SCMP_SYS(mremap),        SCMP_SYS(munmap),
    SCMP_SYS(nanosleep),     SCMP_SYS(poll),
    SCMP_SYS(ppoll),         SCMP_SYS(pread64),
    SCMP_SYS(read),          SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigaction),  SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),  SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield),   SCMP_SYS(sigaltstack),
    SCMP_SYS(sysinfo),       SCMP_SYS(time),
    SCMP_SYS(uname),         SCMP_SYS(write),
    SCMP_SYS(writev),
};

// What libraries try and can do without.
struct Refused {
  int call;
  int error;
};
constexpr Refused kRefused[] = {
    {SCMP_SYS(access), EACCES},     {SCMP_SYS(faccessat), EACCES},
    {SCMP_SYS(faccessat2), EACCES}, {SCMP_SYS(fcntl), EACCES},
    {SCMP_SYS(fstat), EACCES},      {SCMP_SYS(ioctl), ENOTTY},
    {SCMP_SYS(lseek), ESPIPE},      {SCMP_SYS(lstat), EACCES},
    {SCMP_SYS(membarrier), ENOSYS}, {SCMP_SYS(newfstatat), EACCES},
    {SCMP_SYS(open), EACCES},       {SCMP_SYS(openat), EACCES},
    {SCMP_SYS(prctl), EPERM},       {SCMP_SYS(readlink), EACCES},
    {SCMP_SYS(readlinkat), EACCES}, {SCMP_SYS(stat), EACCES},
    {SCMP_SYS(statx), EACCES},
};

// Names for those that somebody may really try; others share the last code.
struct Named {
  int call;
  const char* name;
};
constexpr Named kNamed[] = {
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_bind, "bind"},
    {SYS_bpf, "bpf"},
    {SYS_chdir, "chdir"},
    {SYS_chmod, "chmod"},
    {SYS_chown, "chown"},
    {SYS_chroot, "chroot"},
    {SYS_clone, "clone (a process or thread)"},
    {SYS_clone3, "clone3 (a process or thread)"},
    {SYS_connect, "connect"},
    {SYS_creat, "creat"},
    {SYS_dup, "dup"},
    {SYS_dup2, "dup2"},
    {SYS_dup3, "dup3"},
    {SYS_eventfd2, "eventfd2"},
    {SYS_execve, "execve"},
    {SYS_execveat, "execveat"},
    {SYS_fork, "fork"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_getdents64, "getdents64"},
    {SYS_io_uring_setup, "io_uring_setup"},
    {SYS_kill, "kill"},
    {SYS_link, "link"},
    {SYS_listen, "listen"},
    {SYS_memfd_create, "memfd_create"},
    {SYS_mkdir, "mkdir"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mmap, "mmap (of executable memory)"},
    {SYS_mount, "mount"},
    {SYS_mprotect, "mprotect (of executable memory)"},
    {SYS_pidfd_open, "pidfd_open"},
    {SYS_pipe2, "pipe2"},
    {SYS_prlimit64, "prlimit64"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_ptrace, "ptrace"},
    {SYS_recvfrom, "recvfrom (another socket)"},
    {SYS_recvmsg, "recvmsg (another socket)"},
    {SYS_rename, "rename"},
    {SYS_renameat2, "renameat2"},
    {SYS_rmdir, "rmdir"},
    {SYS_seccomp, "seccomp"},
    {SYS_sendmsg, "sendmsg (another socket)"},
    {SYS_sendto, "sendto (another socket)"},
    {SYS_setrlimit, "setrlimit"},
    {SYS_setsid, "setsid"},
    {SYS_setuid, "setuid"},
    {SYS_shmget, "shmget"},
    {SYS_socket, "socket"},
    {SYS_socketpair, "socketpair"},
    {SYS_symlink, "symlink"},
    {SYS_tgkill, "tgkill (another process)"},
    {SYS_truncate, "truncate"},
    {SYS_unlink, "unlink"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_unshare, "unshare"},
    {SYS_userfaultfd, "userfaultfd"},
    {SYS_vfork, "vfork"},
};

constexpr int kFirstCode = 64;
constexpr int kOtherCode = kFirstCode + static_cast<int>(std::size(kNamed));
static_assert(kOtherCode < 128);  // Shells use those above for signals.

void OnDenied(int, siginfo_t* info, void*) {
  _exit(CodeOfDenied(info->si_syscall));
}

}  // namespace

absl::Status FilterSystemCalls(int channel_fd) {
  struct sigaction action = {};
  action.sa_sigaction = OnDenied;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSYS, &action, nullptr);

  // Trapped instead of killed: the handler tells the worker which call it was.
  SystemCallFilter filter(SCMP_ACT_TRAP);
  for (const int call : kAllowed) filter.Allow(call);
  for (const Refused& row : kRefused) filter.Refuse(row.call, row.error);
  const auto channel = static_cast<scmp_datum_t>(channel_fd);
  for (const int call : {SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
                         SCMP_SYS(sendto), SCMP_SYS(sendmsg)}) {
    filter.AllowIf(call, SCMP_A0(SCMP_CMP_EQ, channel));
  }
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    filter.AllowIf(call, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  }
  filter.AllowIf(SCMP_SYS(tgkill),
                 SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(getpid())));
  // Asking for limits, not setting them.
  filter.AllowIf(SCMP_SYS(prlimit64), SCMP_A2(SCMP_CMP_EQ, 0));
  return filter.Load();
}

int CodeOfDenied(int system_call) {
  for (size_t i = 0; i < std::size(kNamed); ++i) {
    if (kNamed[i].call == system_call) return kFirstCode + static_cast<int>(i);
  }
  return kOtherCode;
}

const char* NameOfDenied(int exit_code) {
  if (exit_code == kOtherCode) return "another system call";
  if (exit_code < kFirstCode || exit_code > kOtherCode) return nullptr;
  return kNamed[exit_code - kFirstCode].name;
}

}  // namespace edgekiln::server
