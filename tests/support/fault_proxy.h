// A TCP proxy in this process, between us and a server, that breaks the line on command.
//
// Role:     tests put it between a client library and a real server: loopback TCP in, loopback TCP or a
//           unix socket out. It passes everything until it is told otherwise.
// Threads:  one of its own; commands from any thread. A command returns once it is in force: what comes
//           later is treated by the new rule. Lifetime: listens from construction on, ends with the object,
//           whatever its lines are doing.
// Note:     commands add up (a way may be slow and in pieces at once) until pass() forgets all of them. A
//           line that is cut is gone for good; the next connection gets a new one.
// Limits:   kBufferMax bytes held for each line and way, kLinesMax lines; more are closed at once.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sluice/clock.h"

namespace sluice::test {

// Where the server is; a socket path wins over the port (of 127.0.0.1).
struct ProxiedServer {
  std::string socketPath;
  std::uint16_t port = 0;
};

enum class Way : std::uint8_t { ToServer = 0, ToClient = 1 };
enum class Ending : std::uint8_t { Close, Reset };  // FIN; or RST (on a unix socket as on a crash: closed)

class FaultProxy {
 public:
  static constexpr std::size_t kBufferMax = 256 * 1024;
  static constexpr std::size_t kLinesMax = 1024;

  // Throws std::runtime_error where it cannot listen. The server may come later.
  explicit FaultProxy(ProxiedServer server);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // On 127.0.0.1; the same as long as the object lives.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // Whole again. What was stalled or slow comes now, what was dropped does not.
  void pass();
  // New connections are refused by the system; those there go on.
  void refuse();
  // Ends every line that is there; new connections are served.
  void cut(Ending ending = Ending::Close);
  // Nothing is read and nothing forwarded, not even an end: the network is half open. New connections are
  // accepted and stall as well.
  void stall(Way way);
  void stall();
  // Read and thrown away, ends too: packets vanish in one direction.
  void drop(Way way);
  void delay(Way way, milliseconds by);
  // Forwarded in pieces of at most `bytes`, with a pause after each, so that a reader sees them one by one.
  void slice(Way way, std::size_t bytes);
  // After exactly so many more bytes (over all lines) every line is cut; then the way passes again.
  void cutAfter(Way way, std::uint64_t bytes, Ending ending = Ending::Close);

  [[nodiscard]] std::uint64_t connections() const;     // accepted since the start
  [[nodiscard]] std::size_t lines() const;             // there now
  [[nodiscard]] std::uint64_t cuts() const;            // by cut() and cutAfter()
  [[nodiscard]] std::uint64_t bytes(Way way) const;    // forwarded since the start
  [[nodiscard]] std::uint64_t dropped(Way way) const;  // bytes thrown away since the start
  [[nodiscard]] std::uint64_t pieces(Way way) const;   // writes since the start

 private:
  enum class Flow : std::uint8_t { Pass, Stall, Drop };
  struct Rule {
    Flow flow = Flow::Pass;
    milliseconds delay{0};
    std::size_t pieceMax = kBufferMax;
    std::optional<std::uint64_t> left;  // bytes until the cut
    Ending ending = Ending::Close;
  };
  struct Count {
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;
    std::uint64_t pieces = 0;
  };
  struct Lane;
  struct Line;
  struct Watch;

  template <typename Change>
  void command(Change change);
  [[nodiscard]] Rule& rule(Way way) { return rules_.at(static_cast<std::size_t>(way)); }
  [[nodiscard]] Count& count(Way way) { return counts_.at(static_cast<std::size_t>(way)); }
  [[nodiscard]] const Count& count(Way way) const { return counts_.at(static_cast<std::size_t>(way)); }

  void run();
  void obey();
  void listenOrNot();
  [[nodiscard]] Watch watch();
  void acceptAll();
  [[nodiscard]] int connectServer() const;
  void moveBytes(const Watch& seen);
  void readFrom(Line& line, Way way);
  void writeTo(Line& line, Way way);
  void writePiece(Line& line, Way way);
  void cutAll(Ending ending);

  const ProxiedServer server_;
  int reserved_ = -1;  // bound and never listening: keeps the port ours while connections are refused
  std::uint16_t port_ = 0;
  int wake_ = -1;

  mutable std::mutex mutex_;  // held by the thread whenever it does not poll; guards all below
  std::condition_variable obeyed_;
  std::uint64_t commands_ = 0;
  std::uint64_t obeyedUpTo_ = 0;
  bool ending_ = false;
  bool accepting_ = true;
  std::optional<Ending> cut_;
  std::array<Rule, 2> rules_;
  std::array<Count, 2> counts_;
  std::uint64_t accepted_ = 0;
  std::uint64_t cuts_ = 0;
  int listener_ = -1;
  std::vector<std::unique_ptr<Line>> lines_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace sluice::test
