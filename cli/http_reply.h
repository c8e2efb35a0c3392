// HttpReply: reads one HTTP/1.1 response from a stream of bytes, piece by piece.
//
// Role:     the storm client's side of HTTP; strict, so that a server which answers nonsense is caught and
//           not counted as an answer.
// Threads:  a plain value; one thread at a time.
// Errors:   a malformed or oversized response ends in State::Bad with fault(); nothing is skipped or
//           repaired.
// Limits:   kHeadBytesMax of head, kBodyBytesMax of body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class HttpReply {
 public:
  static constexpr std::size_t kHeadBytesMax = 16 * 1024;
  static constexpr std::size_t kBodyBytesMax = 1024 * 1024;
  enum class State : std::uint8_t { NeedMore, Done, Bad };

  // Takes the next bytes. Bytes behind a complete response are a fault: no second request was sent.
  State feed(std::string_view bytes);
  // The stream ended. Completes a response whose body has no length; anything else unfinished is Bad.
  State endOfStream();

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] std::string_view fault() const noexcept { return fault_; }
  // The following are set once the head was read.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& body() const noexcept { return body_; }
  // The value of a header (name in any case), without surrounding blanks.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept;

 private:
  enum class Part : std::uint8_t { Head, Length, ChunkSize, ChunkData, Trailer, UntilClose };
  State bad(std::string_view why) noexcept;
  State done() noexcept;
  State step();
  State readHead();
  State readLength();
  State readChunkSize();
  State readChunkData();
  State readTrailer();
  bool parseStatusLine(std::string_view line) noexcept;
  State chooseBody();
  bool appendBody(std::size_t count);

  State state_ = State::NeedMore;
  Part part_ = Part::Head;
  std::string pending_;  // received, not yet understood
  std::string head_;     // header lines, without the status line
  std::string body_;
  std::size_t remaining_ = 0;  // of the body or the chunk
  int status_ = 0;
  std::string_view fault_;  // static text
};

}  // namespace sluice
