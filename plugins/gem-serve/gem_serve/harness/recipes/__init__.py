"""The recipes, one program a file; ``gem_serve.plugin`` lists them."""
