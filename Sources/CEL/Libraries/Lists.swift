/// The `lists` library.
enum Lists {
    static let functions: [Function] = []
}
