// The stores of the pairs that contract/together.h tests: how each is made, and how it is taken away.
#pragma once

#include "contract/together.h"

namespace sluice::test {

// A file in the data folder; away while somebody else holds it locked.
[[nodiscard]] std::unique_ptr<TogetherWorld> makeSqliteTogether(const std::string& dataDir);

// A database of its own on one private server for the whole program; away while the server is killed.
[[nodiscard]] std::unique_ptr<TogetherWorld> makePgTogether(const std::string& dataDir);
[[nodiscard]] std::unique_ptr<TogetherWorld> makeMysqlTogether(const std::string& dataDir);

using TogetherWorlds = std::function<std::unique_ptr<TogetherWorld>(const std::string& dataDir)>;
// The same world, with a name of its own for the queue: the broker outlives the test.
[[nodiscard]] TogetherWorlds withQueueOfItsOwn(TogetherWorlds make);

}  // namespace sluice::test
