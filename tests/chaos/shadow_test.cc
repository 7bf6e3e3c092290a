#include "tests/chaos/shadow.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "tests/chaos/farm.h"
#include "tests/chaos/synced_folder.h"

namespace edgekiln::chaos {
namespace {

// What drop_unsynced.cc does around a program's calls, without the program.
class Disk {
 public:
  Disk() { Start(); }

  void Start() {
    shadow_ = std::make_unique<Shadow>(scratch_.At(kWatchedFolder),
                                       scratch_.At(kShadowFolder));
  }
  std::string At(const std::string& name) const {
    return scratch_.At(kWatchedFolder) + "/" + name;
  }
  void Append(const std::string& name, const std::string& bytes) {
    const int fd = shadow_->Opening(At(name), [&] {
      return open(At(name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    });
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  void MakeFolder(const std::string& name) {
    shadow_->Opening(At(name), [&] { return mkdir(At(name).c_str(), 0700); });
  }
  void Rename(const std::string& from, const std::string& to) {
    shadow_->Changing([&] { return rename(At(from).c_str(), At(to).c_str()); });
  }
  void Remove(const std::string& name) {
    shadow_->Changing([&] { return unlink(At(name).c_str()); });
  }
  void Sync(const std::string& name) {
    const int fd = open(At(name).c_str(), O_RDONLY);
    EXPECT_TRUE(shadow_->Sync(fd)) << name;
    close(fd);
  }
  // "-": no such file.
  std::string Contents(const std::string& name) const {
    std::ifstream file(At(name), std::ios::binary);
    if (!file) return "-";
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Dropped Crash() {
    shadow_.reset();
    const absl::StatusOr<Dropped> dropped = DropUnsynced(scratch_.path());
    EXPECT_TRUE(dropped.ok()) << dropped.status();
    Start();
    return dropped.ok() ? *dropped : Dropped();
  }

 private:
  Scratch scratch_;
  std::unique_ptr<Shadow> shadow_;
};

TEST(ShadowTest, WhatSurvives) {
  const struct {
    std::string name;
    std::function<void(Disk&)> act;
    std::string a, b;  // Contents afterwards.
  } cases[] = {
      {"nothing synced", [](Disk& d) { d.Append("a", "1"); }, "-", "-"},
      {"contents only",
       [](Disk& d) {
         d.Append("a", "1");
         d.Sync("a");
       },
       "-", "-"},
      {"name only",
       [](Disk& d) {
         d.Append("a", "1");
         d.Sync(".");
       },
       "", "-"},
      {"both, and more that is not",
       [](Disk& d) {
         d.Append("a", "1");
         d.Sync("a");
         d.Sync(".");
         d.Append("a", "2");
       },
       "1", "-"},
      {"renamed",
       [](Disk& d) {
         d.Append("a", "1");
         d.Sync("a");
         d.Sync(".");
         d.Rename("a", "b");
       },
       "1", "-"},
      {"renamed durably, contents too late",
       [](Disk& d) {
         d.Append("a", "1");
         d.Rename("a", "b");
         d.Sync(".");
       },
       "-", ""},
      {"replaced",
       [](Disk& d) {
         d.Append("a", "old");
         d.Sync("a");
         d.Sync(".");
         d.Append("b", "new");
         d.Sync("b");
         d.Rename("b", "a");
       },
       "old", "-"},
      {"removed, and its number given to another",
       [](Disk& d) {
         d.Append("a", "1");
         d.Sync("a");
         d.Sync(".");
         d.Remove("a");
         d.Append("b", "2");
         d.Sync("b");
       },
       "1", "-"},
      {"what was there at the start",
       [](Disk& d) {
         d.Append("a", "1");
         d.Sync("a");
         d.Sync(".");
         d.Crash();
         d.Append("a", "2");
         d.Crash();
         d.Append("a", "3");
         d.Sync("a");
       },
       "13", "-"},
  };
  for (const auto& c : cases) {
    Disk disk;
    c.act(disk);
    disk.Crash();
    EXPECT_EQ(disk.Contents("a"), c.a) << c.name;
    EXPECT_EQ(disk.Contents("b"), c.b) << c.name;
  }
}

TEST(ShadowTest, FoldersAndCounts) {
  Disk disk;
  disk.MakeFolder("f");
  disk.Append("f/kept", "1");
  disk.Sync("f/kept");
  disk.Sync("f");
  disk.MakeFolder("g");
  disk.Sync(".");
  disk.Append("f/kept", "torn");
  disk.Append("f/lost", "1");
  disk.Append("g/lost", "1");
  const Dropped dropped = disk.Crash();
  EXPECT_EQ(disk.Contents("f/kept"), "1");
  EXPECT_EQ(disk.Contents("f/lost"), "-");
  EXPECT_TRUE(std::filesystem::is_directory(disk.At("g")));
  EXPECT_EQ(dropped.names, 2);
  EXPECT_EQ(dropped.contents, 1);
  disk.Remove("f/kept");
  EXPECT_EQ(disk.Crash().revived, 1);
  EXPECT_EQ(disk.Contents("f/kept"), "1");
}

}  // namespace
}  // namespace edgekiln::chaos
