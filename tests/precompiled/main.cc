// Precompiled headers need a target that has a source.
int main() { return 0; }
