// placeholder, deleted at integration
