// The plugin boundary: what a queue or store library exports, and what it is given.
//
// Role:     a plugin is a shared library with one symbol, `sluice_plugin`, that returns a constant
//           descriptor. The loader compares magic, ABI number, build tag, kind and name before it calls
//           anything else, and names every mismatch in one message.
// Threads:  the symbol and the factory are called by one thread, during start. Lifetime: a library is never
//           unloaded. Objects are destroyed through their virtual destructor before main returns; after
//           close() they have joined their threads. What a context refers to outlives the object.
// Errors:   nothing throws across the boundary; the factory answers Misconfigured where options contradict
//           each other.
// Note:     the process ignores SIGPIPE. Plugins write to the Log they are given, never to a logging
//           registry of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/options.h"
#include "sluice/order_queue.h"
#include "sluice/order_store.h"
#include "sluice/redis.h"
#include "sluice/result.h"

#define SLUICE_STRINGIZE_(x) #x
#define SLUICE_STRINGIZE(x) SLUICE_STRINGIZE_(x)

#if defined(__clang__)
#define SLUICE_TAG_COMPILER "clang-" SLUICE_STRINGIZE(__clang_major__)
#else
#define SLUICE_TAG_COMPILER "gcc-" SLUICE_STRINGIZE(__GNUC__)
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_TAG_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define SLUICE_TAG_SANITIZER "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_TAG_SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define SLUICE_TAG_SANITIZER "thread"
#endif
#endif
#if !defined(SLUICE_TAG_SANITIZER)
#define SLUICE_TAG_SANITIZER "none"
#endif
// Host and plugin exchange C++ objects, so both must come from one compiler, one standard library and one
// sanitizer setting.
#define SLUICE_BUILD_TAG                                                                              \
  SLUICE_TAG_COMPILER " libstdc++-" SLUICE_STRINGIZE(_GLIBCXX_RELEASE) " cxx11abi-" SLUICE_STRINGIZE( \
      _GLIBCXX_USE_CXX11_ABI) " sanitizer-" SLUICE_TAG_SANITIZER

namespace sluice {

inline constexpr std::uint64_t kPluginMagic = 0x534c554943453031;  // "SLUICE01"
// Raised with every change of a header that a plugin sees.
inline constexpr std::uint32_t kPluginAbi = 1;

enum class PluginKind : std::uint32_t { Queue = 1, Store = 2 };

struct QueueContext {
  const OptionMap& options;
  Log& log;
  const Clock& clock;
  Random& random;
  RedisTarget redis;        // for queues that live in the qualifier's Redis
  std::string keyPrefix;    // of the qualifier's keys, for RedisKeys
  std::string instance;     // stable name of this process among others: host and address; [A-Za-z0-9_.:-]
  std::size_t consumers;    // receive slots
  bool journal;             // admissions are in the journal
  std::int64_t journalMax;  // cap of the journal, entries
};

struct StoreContext {
  const OptionMap& options;
  Log& log;
  const Clock& clock;
  Random& random;
  std::string dataDir;  // absolute; for stores that keep files
};

// The first five fields keep their places in every ABI, so that a mismatch can be named in full.
struct PluginDescriptor {
  std::uint64_t magic;  // kPluginMagic
  std::uint32_t abi;    // kPluginAbi
  PluginKind kind;
  const char* buildTag;  // SLUICE_BUILD_TAG
  const char* name;      // lower case: "stream"; the library is called <kind>_<name>.so
  const char* version;
  const char* summary;  // one line for `plugins list`
  const OptionSpec* options;
  std::size_t optionCount;
  // The one of the plugin's kind is set, the other is null.
  Result<std::unique_ptr<OrderQueue>> (*makeQueue)(const QueueContext& context) noexcept;
  Result<std::unique_ptr<OrderStore>> (*makeStore)(const StoreContext& context) noexcept;
};

using PluginEntry = const PluginDescriptor* (*)() noexcept;

}  // namespace sluice

// In plugin.cpp: SLUICE_PLUGIN(kDescriptor) with a constant `sluice::PluginDescriptor kDescriptor`.
#define SLUICE_PLUGIN(descriptor)                                                   \
  extern "C" __attribute__((visibility("default"))) const sluice::PluginDescriptor* \
  sluice_plugin() noexcept;                                                         \
  extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept { return &(descriptor); }
