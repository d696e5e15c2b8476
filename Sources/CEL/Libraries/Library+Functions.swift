extension Library {
    /// The functions that the library adds; the parser handles its macros.
    func functions(_ host: Host) -> [Function] {
        switch self {
        case .strings: Strings.functions
        case .math: MathFunctions.functions
        case .lists: Lists.functions
        case .sets: Sets.functions
        case .encoders: Encoders.functions
        case .optionals: Optionals.functions
        case .regex: RegexFunctions.functions
        case .network: Network.functions
        case .times: Times.functions(host.zones)
        case .twoVariableComprehensions, .bindings, .block: []
        }
    }

    /// The type names that the library adds.
    var types: [CELType] {
        switch self {
        case .optionals: [.optional(.dyn)]
        case .network: [Network.ipType, Network.cidrType]
        default: []
        }
    }
}
