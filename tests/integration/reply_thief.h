// Sits between a client and Redis and, when told, keeps a reply for itself and cuts the connection: the
// client cannot know whether its command ran.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "sluice/redis.h"

#include "support/temp_folder.h"

namespace sluice::test {

class ReplyThief {
 public:
  explicit ReplyThief(const RedisTarget& behind);
  ~ReplyThief();
  ReplyThief(const ReplyThief&) = delete;
  ReplyThief& operator=(const ReplyThief&) = delete;

  // Where clients connect.
  [[nodiscard]] RedisTarget target() const;
  // The next `count` replies are stolen.
  void steal(int count) noexcept { toSteal_ = count; }
  [[nodiscard]] int leftToSteal() const noexcept { return toSteal_; }

 private:
  struct Pair {
    int client;
    int server;
  };
  void run();
  void accept();
  // False where the pair is over.
  bool forward(int from, int to, bool isReply);

  RedisTarget behind_;
  TempFolder folder_;
  int listener_;
  std::vector<Pair> pairs_;  // the thread's
  std::atomic<int> toSteal_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::test
