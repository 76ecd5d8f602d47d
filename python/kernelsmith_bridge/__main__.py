from kernelsmith_bridge.worker import main

main()
