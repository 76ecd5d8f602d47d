// Nothing but what CMake needs to precompile headers for a library and for a program.
int main() { return 0; }
