// The main function of the queue contract's programs: tests, or the work of one of their children.
#include <csignal>
#include <iostream>

#include <gtest/gtest.h>

#include "contract/queue_child.h"

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == sluice::test::kQueueChildFlag) {
    ::signal(SIGPIPE, SIG_IGN);  // what the program does at its start
    try {
      return sluice::test::runQueueChild(sluice::test::QueueErrand({argv + 2, argv + argc}));
    } catch (const std::exception& failure) {
      std::cerr << "child: " << failure.what() << '\n';
      return 2;
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
