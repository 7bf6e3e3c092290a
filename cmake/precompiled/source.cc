// Precompiled headers need a target that has a source.
