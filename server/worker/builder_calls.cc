#include "server/worker/builder_calls.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <unistd.h>

#include "server/worker/system_call_filter.h"

namespace edgekiln::server {
namespace {

constexpr int kRefused[] = {
    // The network, and other sockets.
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind),
    SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(sendmmsg),
    SCMP_SYS(recvmmsg), SCMP_SYS(setsockopt),
    // Other processes. A compiler that fails by abort() still ends.
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise), SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(kill), SCMP_SYS(tkill),
    SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo),
    // Out of reach of whoever ends its group.
    SCMP_SYS(setpgid), SCMP_SYS(setsid),
    // Other users and groups.
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid),
    SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setfsuid),
    SCMP_SYS(setfsgid), SCMP_SYS(setgroups), SCMP_SYS(capset),
    // Limits and priorities.
    SCMP_SYS(setrlimit), SCMP_SYS(setpriority), SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_setattr), SCMP_SYS(ioprio_set),
    // Mounts and name spaces.
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(open_tree),
    SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at),
    // The machine.
    SCMP_SYS(reboot), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(syslog), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(nfsservctl), SCMP_SYS(vhangup), SCMP_SYS(mknod), SCMP_SYS(mknodat),
    // What kernels are attacked through, and no compiler needs.
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key),
    SCMP_SYS(request_key), SCMP_SYS(personality), SCMP_SYS(modify_ldt),
    SCMP_SYS(vmsplice), SCMP_SYS(fanotify_init), SCMP_SYS(lookup_dcookie),
    SCMP_SYS(mbind), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),
    SCMP_SYS(set_mempolicy),
    // Memory that outlives the process.
    SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl), SCMP_SYS(msgget),
    SCMP_SYS(msgsnd), SCMP_SYS(semget), SCMP_SYS(semop), SCMP_SYS(mq_open),
    SCMP_SYS(memfd_create), SCMP_SYS(memfd_secret)};

constexpr scmp_datum_t kNameSpaces[] = {
    CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
    CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

}  // namespace

absl::Status FilterBuilderCalls(int channel_fd) {
  SystemCallFilter filter(SCMP_ACT_ALLOW);
  for (const int call : kRefused) filter.Refuse(call, EPERM);
  const auto channel = static_cast<scmp_datum_t>(channel_fd);
  for (const int call : {SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
                         SCMP_SYS(sendto), SCMP_SYS(sendmsg)}) {
    filter.RefuseIf(call, EPERM, SCMP_A0(SCMP_CMP_NE, channel));
  }
  // A rule cannot look at what clone3() points to; without it, the C library
  // takes clone().
  filter.Refuse(SCMP_SYS(clone3), ENOSYS);
  for (const scmp_datum_t flag : kNameSpaces) {
    filter.RefuseIf(SCMP_SYS(clone), EPERM,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  }
  // abort() of this process.
  filter.RefuseIf(SCMP_SYS(tgkill), EPERM,
                  SCMP_A0(SCMP_CMP_NE, static_cast<scmp_datum_t>(getpid())));
  // Asking for limits works, setting them does not.
  filter.RefuseIf(SCMP_SYS(prlimit64), EPERM, SCMP_A2(SCMP_CMP_NE, 0));
  return filter.Load();
}

}  // namespace edgekiln::server
