#ifndef EK_SERVER_DAEMON_FAIRNESS_FAIR_QUEUE_H_
#define EK_SERVER_DAEMON_FAIRNESS_FAIR_QUEUE_H_

// Whose turn it is, for jobs that wait to run and leases that wait for a
// worker. Three rules, in this order:
//
// - Class: INTERACTIVE before CI before BATCH, and inside a class lower kinds
//   first (compile stages before simulations).
// - Ageing: an item that waits longer than the patience of its class is
//   overdue. While overdue items are passed over, every kTurnsToOverdue-th turn
//   goes to the class and kind of the one that is overdue the longest. So
//   nothing waits for ever, and a backlog takes no more than that share from
//   those before it.
// - Round robin between clients inside class and kind, between the jobs of a
//   client, and inside a job by `order`. Who comes, or comes again, goes to the
//   end of the round: a client waits for one item of each of the others.
//
// An item that may not go at present is skipped, and keeps its place.
//
// The order follows from the calls and the times handed in alone. Every
// operation takes logarithmic time, beside what is skipped; Order() takes
// linear time and copies no item. Thread-compatible.

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
  // Whether that one may, of those that `Admits` lets go.
  using Fits = std::function<bool(uint64_t id)>;
  struct Choice {
    uint64_t id = 0;
    bool passed_over = false;  // An overdue item.
  };
  // The next that may go, which stays.
  std::optional<Choice> Next(absl::Duration now, const Admits& admits,
                             const Fits& fits) const;
  // Takes it out: that was a turn of its client and job.
  void Take(const Choice& choice);
  // The same out of turn, as far as its class is concerned.
  void Take(uint64_t id) { TakeItem(id); }
  // Next() and Take().
  std::optional<uint64_t> Pop(absl::Duration now, const Admits& admits);

  // All items in the order in which they would go if nothing else came.
  std::vector<uint64_t> Order(absl::Duration now) const;

  // Whether anything of a class after that one is queued.
  bool HasAfter(v1::JobClass job_class) const;
  bool Contains(uint64_t id) const { return items_.contains(id); }
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

  class Walk;

  Bucket& BucketOf(const Item& item);
  void Insert(uint64_t id, const Item& item);
  void Erase(uint64_t id, const Item& item);
  // Since when the oldest item of each bucket that may go has waited.
  using Oldest = std::array<std::optional<absl::Duration>, kClasses * kKinds>;
  // The bucket whose turn it is; `passed_over`: by a turn that an overdue item
  // of another one does not get, after `turns` such.
  static std::optional<size_t> Choose(const Oldest& oldest, absl::Duration now,
                                      int turns, bool& passed_over);
  static std::optional<uint64_t> FirstOf(const Bucket& bucket,
                                         const Fits& fits);
  void TakeItem(uint64_t id);

  std::map<uint64_t, Item> items_;
  std::array<Bucket, kClasses * kKinds> buckets_;  // First goes first.
  uint64_t next_turn_ = 1;
  int passed_over_ = 0;  // Turns since one went to an overdue item.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FAIRNESS_FAIR_QUEUE_H_
