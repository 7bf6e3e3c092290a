#ifndef EK_SERVER_DAEMON_FAIRNESS_FAIR_QUEUE_H_
#define EK_SERVER_DAEMON_FAIRNESS_FAIR_QUEUE_H_

// Whose turn it is, for jobs that wait to run and leases that wait for a
// worker. Three rules, in this order:
//
// - Class: INTERACTIVE before CI before BATCH, and inside a class lower kinds
//   first (compile stages before simulations).
// - Ageing: an item that waits longer than the patience of its class is
// overdue.
//   While overdue items are passed over, every kTurnsToOverdue-th turn goes to
//   the class and kind of the one that is overdue the longest. So nothing waits
//   for ever, and a backlog takes no more than that share from who is before
//   it.
// - Round robin between clients inside class and kind, between the jobs of a
//   client, and inside a job by `order`. Who comes, or comes again, goes to the
//   end of the round: a client waits for one item of each of the others.
//
// The order follows from the calls and the times handed in alone. Every
// operation takes logarithmic time. A value; thread-compatible.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

class FairQueue {
 public:
  static constexpr int kKinds = 2;
  static constexpr int kTurnsToOverdue = 4;

  struct Item {
    v1::JobClass job_class = v1::INTERACTIVE;
    int kind = 0;  // Below kKinds.
    std::string client{};
    std::string job{};
    uint64_t order = 0;      // Inside the job: lower goes first.
    absl::Duration since{};  // Monotonic; when it began to wait.
  };

  // `id` must not be queued.
  void Push(uint64_t id, Item item);
  // False if it is not queued.
  bool Remove(uint64_t id);
  // Into a class that goes before its own; else nothing happens.
  void Promote(uint64_t id, v1::JobClass job_class);

  // Whether items of that class and kind may go at present.
  using Admits = std::function<bool(v1::JobClass job_class, int kind)>;
  // Whether one more of that client and class may. Null: of all.
  using AdmitsClient =
      std::function<bool(v1::JobClass job_class, const std::string& client)>;
  // Takes out the next that may go. Clients that may not keep their places.
  std::optional<uint64_t> Pop(absl::Duration now, const Admits& admits,
                              const AdmitsClient& admits_client = nullptr);

  // All items in the order in which they would go if nothing else came.
  std::vector<uint64_t> Order(absl::Duration now) const;

  // Whether anything of a class after that one is queued.
  bool HasAfter(v1::JobClass job_class) const;
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  const Item& at(uint64_t id) const { return items_.at(id); }

 private:
  static constexpr int kClasses = 3;

  // Members in the order of their turns: a lower number goes first.
  struct Job {
    uint64_t turn = 0;
    std::set<std::pair<uint64_t, uint64_t>> items;  // Order, id.
  };
  struct Client {
    uint64_t turn = 0;
    std::map<std::string, Job> jobs;
    std::set<std::pair<uint64_t, std::string>> round;
  };
  // The items of one class and kind.
  struct Bucket {
    std::map<std::string, Client> clients;
    std::set<std::pair<uint64_t, std::string>> round;
    std::set<std::pair<absl::Duration, uint64_t>> by_age;
  };

  Bucket& BucketOf(const Item& item);
  void Insert(uint64_t id, const Item& item);
  void Erase(uint64_t id, const Item& item);
  // Whose turn it is.
  struct Choice {
    Bucket* bucket = nullptr;  // Null if none may go.
    std::string client{};
    // An overdue item, by a turn that is not its own.
    bool passed_over = false;
  };
  Choice Choose(absl::Duration now, const Admits& admits,
                const AdmitsClient& admits_client);
  uint64_t TakeFrom(Bucket& bucket, const std::string& client);

  std::map<uint64_t, Item> items_;
  std::array<Bucket, kClasses * kKinds> buckets_;  // First goes first.
  uint64_t next_turn_ = 1;
  int passed_over_ = 0;  // Turns since one went to an overdue item.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FAIRNESS_FAIR_QUEUE_H_
