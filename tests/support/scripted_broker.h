// A broker that speaks just enough AMQP 0-9-1 to be published to, and confirms what, when and how the test says.
//
// It agrees to everything a client declares, consumes nothing and delivers nothing. What goes to a routing key
// that ends in ".probe" is returned and confirmed at once. Acts on the connection that selected confirms last.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sluice/clock.h"

namespace sluice::test {

class ScriptedBroker {
 public:
  struct Published {
    std::uint64_t number = 0;  // the broker's count on its channel, from 1
    std::string routingKey;
    std::string header;  // the content header as it came
    std::string body;
  };

  ScriptedBroker();
  ~ScriptedBroker();
  ScriptedBroker(const ScriptedBroker&) = delete;
  ScriptedBroker& operator=(const ScriptedBroker&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // The next `count` that were published, in order; fewer when the deadline passes. Each is told once.
  [[nodiscard]] std::vector<Published> take(std::size_t count, Deadline deadline);

  void confirm(std::uint64_t number, bool multiple = false);
  void refuse(std::uint64_t number, bool multiple = false);
  void giveBack(const Published& message);
  void block();
  void unblock();
  void closeChannel();
  void closeConnection();
  void cut();

 private:
  struct Connection;
  using Connections = std::map<int, std::unique_ptr<Connection>>;

  void run();
  void accept();
  [[nodiscard]] bool readFrom(Connection& connection);
  void onFrame(Connection& connection, int type, std::uint16_t channel, const std::string& payload);
  void onMethod(Connection& connection, std::uint16_t channel, const std::string& payload);
  void onWhole(Connection& connection);
  static void agree(Connection& connection, std::uint16_t channel, std::uint32_t method,
                    const std::string& payload);
  static void giveBackTo(Connection& connection, const Published& message);
  void sendToPublisher(bool inChannel, std::uint32_t method, const std::string& arguments);

  int listener_ = -1;
  int ending_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Connections connections_;
  Connection* publisher_ = nullptr;
  std::vector<Published> published_;
  std::thread thread_;
};

}  // namespace sluice::test
