extension Library {
    /// The functions that the library adds; its macros are the parser's.
    var functions: [Function] {
        switch self {
        case .strings: Strings.functions
        case .lists: Lists.functions
        default: []
        }
    }

    /// The type names that the library adds.
    var types: [CELType] {
        switch self {
        case .optionals: [.optional(.dyn)]
        default: []
        }
    }
}
