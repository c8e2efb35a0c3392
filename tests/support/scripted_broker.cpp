// See scripted_broker.h.
#include "support/scripted_broker.h"

#include <algorithm>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::test {

namespace {

constexpr int kMethodFrame = 1;
constexpr int kHeaderFrame = 2;
constexpr int kBodyFrame = 3;
constexpr char kFrameEnd = '\xCE';

constexpr std::uint32_t method(std::uint32_t classId, std::uint32_t methodId) {
  return classId << 16U | methodId;
}
constexpr std::uint32_t kStart = method(10, 10), kStartOk = method(10, 11), kTune = method(10, 30),
                        kTuneOk = method(10, 31), kOpen = method(10, 40), kOpenOk = method(10, 41),
                        kClose = method(10, 50), kCloseOk = method(10, 51), kBlocked = method(10, 60),
                        kUnblocked = method(10, 61), kChannelOpen = method(20, 10),
                        kChannelOpenOk = method(20, 11), kChannelClose = method(20, 40),
                        kChannelCloseOk = method(20, 41), kExchangeDeclare = method(40, 10),
                        kQueueDeclare = method(50, 10), kQueueBind = method(50, 20), kQos = method(60, 10),
                        kConsume = method(60, 20), kCancel = method(60, 30), kPublish = method(60, 40),
                        kReturn = method(60, 50), kAck = method(60, 80), kNack = method(60, 120),
                        kConfirmSelect = method(85, 10);

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    text += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xFFU);
  return text;
}

std::uint64_t numberAt(const std::string& bytes, std::size_t at, std::size_t length) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < length; ++k)
    value = value << 8U | static_cast<unsigned char>(bytes.at(at + k));
  return value;
}

std::string shortText(const std::string& text) { return number(text.size(), 1) + text; }
std::string longText(const std::string& text) { return number(text.size(), 4) + text; }
std::string shortTextAt(const std::string& bytes, std::size_t at) {
  return bytes.substr(at + 1, numberAt(bytes, at, 1));
}

std::string frame(int type, std::uint16_t channel, const std::string& payload) {
  return number(static_cast<std::uint64_t>(type), 1) + number(channel, 2) + number(payload.size(), 4) +
         payload + kFrameEnd;
}

// Code, text, and the method that is to blame: none.
std::string closing() {
  return number(541, 2) + shortText("INTERNAL_ERROR - as the test wants it") + number(0, 4);
}

}  // namespace

struct ScriptedBroker::Connection {
  explicit Connection(int of) : descriptor(of) {}
  ~Connection() { ::close(descriptor); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& bytes) const {
    (void)::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void send(std::uint16_t channel, std::uint32_t id, const std::string& arguments) const {
    send(frame(kMethodFrame, channel, number(id, 4) + arguments));
  }

  const int descriptor;
  std::string input;
  bool greeted = false;
  std::uint16_t confirmChannel = 0;
  std::uint64_t lastNumber = 0;
  // Of the message that is coming.
  Published coming;
  std::uint64_t bodyLeft = 0;
};

ScriptedBroker::ScriptedBroker()
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), ending_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 8) != 0 ||
      ::getsockname(listener_, plain, &size) != 0)
    throw std::runtime_error("no port for the scripted broker");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

ScriptedBroker::~ScriptedBroker() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(ending_, &one, sizeof one);
  thread_.join();
  connections_.clear();
  ::close(listener_);
  ::close(ending_);
}

void ScriptedBroker::run() {
  while (true) {
    std::vector<pollfd> watched = {{ending_, POLLIN, 0}, {listener_, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [descriptor, connection] : connections_)
        watched.push_back({descriptor, POLLIN, 0});
    }
    ::poll(watched.data(), watched.size(), -1);
    if (watched[0].revents != 0) return;
    const std::lock_guard lock(mutex_);
    if (watched[1].revents != 0) accept();
    for (std::size_t k = 2; k < watched.size(); ++k) {
      const auto found = connections_.find(watched[k].fd);
      if (watched[k].revents == 0 || found == connections_.end() || readFrom(*found->second)) continue;
      if (publisher_ == found->second.get()) publisher_ = nullptr;
      connections_.erase(found);
    }
  }
}

void ScriptedBroker::accept() {
  const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor >= 0) connections_.emplace(descriptor, std::make_unique<Connection>(descriptor));
}

bool ScriptedBroker::readFrom(Connection& connection) {
  char buffer[65536];
  const auto got = ::recv(connection.descriptor, buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  std::string& input = connection.input;
  input.append(buffer, static_cast<std::size_t>(got));
  if (!connection.greeted) {
    if (input.size() < 8) return true;
    input.erase(0, 8);
    connection.greeted = true;
    connection.send(0, kStart, number(9, 2) + longText("") + longText("PLAIN") + longText("en_US"));
  }
  while (input.size() >= 7) {
    const std::size_t size = numberAt(input, 3, 4);
    if (input.size() < 7 + size + 1) break;
    const auto type = static_cast<int>(numberAt(input, 0, 1));
    const auto channel = static_cast<std::uint16_t>(numberAt(input, 1, 2));
    const std::string payload = input.substr(7, size);
    input.erase(0, 7 + size + 1);
    onFrame(connection, type, channel, payload);
  }
  return true;
}

void ScriptedBroker::onFrame(Connection& connection, int type, std::uint16_t channel,
                             const std::string& payload) {
  if (type == kMethodFrame) return onMethod(connection, channel, payload);
  if (type == kHeaderFrame) {
    connection.coming.header = payload;
    connection.bodyLeft = numberAt(payload, 4, 8);
  } else if (type == kBodyFrame) {
    connection.coming.body += payload;
    connection.bodyLeft -= payload.size();
  } else {
    return;  // a heartbeat
  }
  if (connection.bodyLeft == 0) onWhole(connection);
}

void ScriptedBroker::onMethod(Connection& connection, std::uint16_t channel, const std::string& payload) {
  const auto id = static_cast<std::uint32_t>(numberAt(payload, 0, 4));
  if (id == kPublish) {
    const std::string exchange = shortTextAt(payload, 6);
    connection.coming = {};
    connection.coming.routingKey = shortTextAt(payload, 6 + 1 + exchange.size());
    return;
  }
  if (id == kConfirmSelect) {
    connection.confirmChannel = channel;
    publisher_ = &connection;
  }
  agree(connection, channel, id, payload);
}

// Nearly every method is answered by the one with the next number and no arguments.
void ScriptedBroker::agree(Connection& connection, std::uint16_t channel, std::uint32_t id,
                           const std::string& payload) {
  switch (id) {
    case kStartOk:
      return connection.send(0, kTune, number(2047, 2) + number(131072, 4) + number(600, 2));
    case kTuneOk:
    case kCloseOk:
    case kChannelCloseOk:
      return;
    case kOpen:
      return connection.send(0, kOpenOk, shortText(""));
    case kChannelOpen:
      return connection.send(channel, kChannelOpenOk, longText(""));
    case kQueueDeclare:
      return connection.send(channel, id + 1,
                             shortText(shortTextAt(payload, 6)) + number(0, 4) + number(0, 4));
    case kConsume: {
      const std::string queue = shortTextAt(payload, 6);
      return connection.send(channel, id + 1, shortText(shortTextAt(payload, 6 + 1 + queue.size())));
    }
    case kCancel:
      return connection.send(channel, id + 1, shortText(shortTextAt(payload, 4)));
    case kClose:
    case kChannelClose:
    case kExchangeDeclare:
    case kQueueBind:
    case kQos:
    case kConfirmSelect:
      return connection.send(channel, id + 1, "");
    default:
      return;
  }
}

void ScriptedBroker::onWhole(Connection& connection) {
  Published message = std::move(connection.coming);
  connection.coming = {};
  message.number = ++connection.lastNumber;
  if (&connection != publisher_) return;
  if (message.routingKey.ends_with(".probe")) {
    giveBackTo(connection, message);
    connection.send(connection.confirmChannel, kAck, number(message.number, 8) + number(0, 1));
    return;
  }
  published_.push_back(std::move(message));
  changed_.notify_all();
}

void ScriptedBroker::giveBackTo(Connection& connection, const Published& message) {
  const std::uint16_t channel = connection.confirmChannel;
  connection.send(channel, kReturn,
                  number(312, 2) + shortText("NO_ROUTE") + shortText("x") + shortText(message.routingKey));
  connection.send(frame(kHeaderFrame, channel, message.header));
  if (!message.body.empty()) connection.send(frame(kBodyFrame, channel, message.body));
}

std::vector<ScriptedBroker::Published> ScriptedBroker::take(std::size_t count, Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.at(), [&] { return published_.size() >= count; });
  const auto taken = static_cast<std::ptrdiff_t>(std::min(count, published_.size()));
  std::vector<Published> messages(published_.begin(), published_.begin() + taken);
  published_.erase(published_.begin(), published_.begin() + taken);
  return messages;
}

void ScriptedBroker::sendToPublisher(bool inChannel, std::uint32_t id, const std::string& arguments) {
  const std::lock_guard lock(mutex_);
  if (publisher_ == nullptr) throw std::runtime_error("nobody has selected confirms");
  publisher_->send(inChannel ? publisher_->confirmChannel : 0, id, arguments);
}

void ScriptedBroker::confirm(std::uint64_t which, bool multiple) {
  sendToPublisher(true, kAck, number(which, 8) + number(multiple ? 1 : 0, 1));
}
void ScriptedBroker::refuse(std::uint64_t which, bool multiple) {
  sendToPublisher(true, kNack, number(which, 8) + number(multiple ? 1 : 0, 1));
}
void ScriptedBroker::giveBack(const Published& message) {
  const std::lock_guard lock(mutex_);
  giveBackTo(*publisher_, message);
}
void ScriptedBroker::block() { sendToPublisher(false, kBlocked, shortText("low on memory")); }
void ScriptedBroker::unblock() { sendToPublisher(false, kUnblocked, ""); }
void ScriptedBroker::closeChannel() { sendToPublisher(true, kChannelClose, closing()); }
void ScriptedBroker::closeConnection() { sendToPublisher(false, kClose, closing()); }
void ScriptedBroker::cut() {
  const std::lock_guard lock(mutex_);
  ::shutdown(publisher_->descriptor, SHUT_RDWR);
}

}  // namespace sluice::test
