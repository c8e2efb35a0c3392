// Something that answers like a Redis of another version, as far as a queue asks before it refuses it.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "sluice/redis.h"

#include "support/temp_folder.h"

namespace sluice::test {

class OldRedis {
 public:
  explicit OldRedis(std::string version);
  ~OldRedis();
  OldRedis(const OldRedis&) = delete;
  OldRedis& operator=(const OldRedis&) = delete;
  [[nodiscard]] RedisTarget target() const;

 private:
  void serve();

  const std::string version_;
  TempFolder folder_;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::test
