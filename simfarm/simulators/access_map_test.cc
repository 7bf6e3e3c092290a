#include "simfarm/simulators/access_map.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

constexpr int64_t kBytes = 64;

// "" or what is wrong: "read 5 unit 1 time 2".
std::string Name(bool good, const AccessFault& fault) {
  if (good) return "";
  const std::string at = " at " + std::to_string(fault.at);
  if (!fault.race()) return "undefined" + at;
  return (fault.kind == AccessFault::Kind::kReadRace ? "read" : "write") + at +
         " unit " + std::to_string(fault.unit) + " time " +
         std::to_string(fault.time);
}

class AccessMapTest : public testing::Test {
 protected:
  std::string Read(int unit, int64_t begin, int64_t end) {
    AccessFault fault;
    return Name(map_.Read(unit, begin, end, true, &fault), fault);
  }
  std::string Write(int unit, int64_t begin, int64_t end) {
    AccessFault fault;
    return Name(map_.Write(unit, begin, end, &fault), fault);
  }
  AccessOrder order_{3};
  AccessMap map_{kBytes, order_};
};

TEST_F(AccessMapTest, ReadsNeedSomebodyWhoWrote) {
  order_.Begin(0, 1);
  EXPECT_EQ(Read(0, 4, 8), "undefined at 4");
  map_.Define(4, 6);
  EXPECT_EQ(Read(0, 4, 8), "undefined at 6");
  EXPECT_EQ(Write(0, 6, 8), "");
  EXPECT_EQ(Read(0, 4, 8), "");
  EXPECT_EQ(map_.FindUndefined(3, 8), 3);
  EXPECT_EQ(map_.FindUndefined(4, 8), -1);
  EXPECT_EQ(map_.FindUndefined(4, 9), 8);
  EXPECT_EQ(map_.FindUndefined(kBytes, kBytes + 1), kBytes);
}

TEST_F(AccessMapTest, WritesRaceWithWhatIsNotAwaited) {
  order_.Begin(0, 5);
  order_.Begin(1, 7);
  EXPECT_EQ(Write(0, 0, 8), "");
  EXPECT_EQ(Read(1, 7, 9), "read at 7 unit 0 time 5");
  EXPECT_EQ(Write(1, 7, 9), "write at 7 unit 0 time 5");
  EXPECT_EQ(Write(1, 8, 9), "");
  order_.Await(1, 0, 4);
  EXPECT_EQ(Read(1, 0, 8), "read at 0 unit 0 time 5");
  order_.Await(1, 0, 5);
  EXPECT_EQ(Read(1, 0, 8), "");
  // Reads do not race with reads; a later write of the first does.
  order_.Begin(0, 6);
  EXPECT_EQ(Read(0, 0, 8), "");
  EXPECT_EQ(Write(0, 4, 5), "write at 4 unit 1 time 7");
  order_.Await(0, 1, 7);
  EXPECT_EQ(Write(0, 4, 5), "");
}

TEST_F(AccessMapTest, JoiningPassesOnWhatWasAwaited) {
  order_.Begin(0, 1);
  EXPECT_EQ(Write(0, 0, 1), "");
  order_.Join(1, 0);
  order_.Begin(1, 1);
  order_.Await(2, 1, 1);
  EXPECT_EQ(Read(2, 0, 1), "read at 0 unit 0 time 1");
  order_.Join(2, 1);
  EXPECT_EQ(Read(2, 0, 1), "");
}

TEST_F(AccessMapTest, KnowsWhatIsReadNow) {
  map_.Define(0, kBytes);
  order_.Begin(0, 1);
  EXPECT_EQ(Read(0, 8, 16), "");
  EXPECT_EQ(map_.FindReadNow(0, 0, 32), 8);
  EXPECT_EQ(map_.FindReadNow(0, 16, 32), -1);
  EXPECT_EQ(map_.FindReadNow(1, 0, 32), -1);
  order_.Begin(0, 2);
  EXPECT_EQ(map_.FindReadNow(0, 0, 32), -1);
  EXPECT_EQ(Read(0, 20, 21), "");
  EXPECT_EQ(map_.FindReadNow(0, 0, 32), 20);
}

TEST(AccessMapWithoutReadsTest, FindsRacesOfWritesOnly) {
  AccessOrder order(2);
  AccessMap map(8, order, /*tracks_reads=*/false);
  AccessFault fault;
  map.Define(0, 8);
  order.Begin(0, 1);
  EXPECT_TRUE(map.Read(0, 0, 8, true, &fault));
  EXPECT_TRUE(map.Write(1, 0, 4, &fault));
  order.Begin(1, 1);
  EXPECT_TRUE(map.Write(1, 4, 8, &fault));
  EXPECT_FALSE(map.Write(0, 4, 8, &fault));
}

// One byte at a time, everything that ever happened to it.
class PlainMap {
 public:
  explicit PlainMap(const AccessOrder& order) : order_(order) {}

  // The kind of what is wrong at `at`, or "".
  std::string Access(int unit, int64_t at, bool write) {
    Byte& byte = bytes_[at];
    if (!write && byte.writer < 0) return "undefined";
    if (byte.writer >= 0 && byte.write_time > order_.known(unit, byte.writer)) {
      return write ? "write" : "read";
    }
    for (int other = 0; write && other < 3; ++other) {
      if (byte.reads[other] > order_.known(unit, other)) return "write";
    }
    if (write) {
      byte.writer = unit;
      byte.write_time = order_.time(unit);
    } else {
      byte.reads[unit] = order_.time(unit);
    }
    return "";
  }

 private:
  struct Byte {
    int writer = -1;
    uint32_t write_time = 0;
    std::array<uint32_t, 3> reads{};
  };
  const AccessOrder& order_;
  std::array<Byte, kBytes> bytes_;
};

// Until something is wrong: what a run would do, too.
TEST(AccessMapRandomTest, AgreesWithBytesOneByOne) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t end) {
    return static_cast<int>(random() % end);
  };
  int faults = 0;
  int accesses = 0;
  for (int round = 0; round < 3000; ++round) {
    AccessOrder order(3);
    AccessMap map(kBytes, order);
    PlainMap plain(order);
    for (int64_t at = 0; at < 48; ++at) {
      plain.Access(0, at, /*write=*/true);  // At time 0.
    }
    map.Define(0, 48);
    for (int step = 1; step < 40; ++step) {
      const int unit = below(3);
      order.Begin(unit, step);
      for (int other = 0; other < 3; ++other) {
        if (other != unit && below(8) != 0) order.Join(unit, other);
      }
      const int64_t begin = below(kBytes - 16);
      const int64_t end = begin + 1 + below(16);
      const bool write = below(2) == 0;
      AccessFault fault;
      const bool good = write ? map.Write(unit, begin, end, &fault)
                              : map.Read(unit, begin, end, true, &fault);
      std::string expected;
      for (int64_t at = begin; at < end && expected.empty(); ++at) {
        expected = plain.Access(unit, at, write);
      }
      const std::string actual = Name(good, fault);
      ASSERT_EQ(actual.substr(0, actual.find(' ')), expected)
          << "round " << round << ", step " << step;
      ++accesses;
      if (good) continue;
      ++faults;
      break;
    }
  }
  EXPECT_GT(faults, 1000);
  EXPECT_GT(accesses, 10 * faults / 3);
}

}  // namespace
}  // namespace edgekiln::simfarm
