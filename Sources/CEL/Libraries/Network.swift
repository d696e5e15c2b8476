/// The `network` library: IP addresses and address blocks.
enum Network {
    static let ipType = CELType.opaque("net.IP")
    static let cidrType = CELType.opaque("net.CIDR")

    static let functions: [Function] = conversions + addresses + blocks

    private static let conversions: [Function] = [
        Function(
            "ip",
            .pure(.string, ipType) { run, value throws(EvaluationError) in try address(value, run) },
            .pure(member: true, cidrType, ipType) { run, value throws(EvaluationError) in
                .object(try block(value, run).address)
            }),
        .pure("cidr", .string, cidrType) { run, value throws(EvaluationError) in .object(try block(value, run)) },
        .pure("isIP", .string, .bool) { run, value throws(EvaluationError) in .bool(try isAddress(value, run)) },
        .pure("isCIDR", .string, .bool) { run, value throws(EvaluationError) in .bool(try isBlock(value, run)) },
        .pure("ip.isCanonical", .string, .bool) { run, value throws(EvaluationError) in
            guard case .object(let object) = try address(value, run) else { return false }
            return .bool(.string(object.text ?? "") == value)
        },
        Function(
            "string",
            .pure(ipType, .string) { .string($1.text ?? "") },
            .pure(cidrType, .string) { .string($1.text ?? "") }),
    ]

    private static let addresses: [Function] = [
        property("family", .int) { .int($0.isV4 ? 4 : 6) },
        property("isUnspecified") { .bool($0.isUnspecified) },
        property("isLoopback") { .bool($0.isLoopback) },
        property("isGlobalUnicast") { .bool($0.isGlobalUnicast) },
        property("isLinkLocalMulticast") { .bool($0.isLinkLocalMulticast) },
        property("isLinkLocalUnicast") { .bool($0.isLinkLocalUnicast) },
    ]

    private static let blocks: [Function] = [
        Function(
            "containsIP",
            overloads: [ipType, .string].map { type in
                .pure(member: true, cidrType, type, .bool) { run, value, other throws(EvaluationError) in
                    guard case .object(let object) = try address(other, run), let ip = object as? IPAddress else { return false }
                    return .bool(try block(value, run).contains(ip))
                }
            }),
        Function(
            "containsCIDR",
            overloads: [cidrType, .string].map { type in
                .pure(member: true, cidrType, type, .bool) { run, value, other throws(EvaluationError) in
                    let (outer, inner) = (try block(value, run), try block(other, run))
                    return .bool(outer.contains(inner))
                }
            }),
        .pure("masked", member: true, cidrType, cidrType) { run, value throws(EvaluationError) in
            .object(try block(value, run).masked)
        },
        .pure("prefixLength", member: true, cidrType, .int) { run, value throws(EvaluationError) in
            .int(Int64(try block(value, run).bits))
        },
    ]

    private static func property(_ name: String, _ type: CELType = .bool, _ body: @escaping @Sendable (IPAddress) -> Value)
        -> Function
    {
        .pure(name, member: true, ipType, type) { _, value throws(EvaluationError) in
            guard case .object(let object) = value, let ip = object as? IPAddress else {
                throw .noOverload(name, [value])
            }
            return body(ip)
        }
    }

    private static func address(_ value: Value, _ run: Activation) throws(EvaluationError) -> Value {
        guard case .string(let text) = value else { return value }
        try read(text, run)
        if text.utf8.contains(UInt8(ascii: "%")) { throw .invalid("IP Address with zone value is not allowed") }
        guard let parsed = IPAddress(text) else {
            throw .invalid("IP Address '\(text)' parse error during conversion from string")
        }
        if parsed.isDottedMapped { throw .invalid(Messages.mappedNotAllowed) }
        return .object(parsed)
    }

    private static func block(_ value: Value, _ run: Activation) throws(EvaluationError) -> AddressBlock {
        if case .object(let object) = value, let block = object as? AddressBlock { return block }
        guard case .string(let text) = value else { throw .noOverload("cidr", [value]) }
        try read(text, run)
        if text.utf8.contains(UInt8(ascii: "%")) { throw .invalid("CIDR with zone value is not allowed") }
        guard let parsed = AddressBlock(text) else { throw .invalid("CIDR '\(text)' parse error during conversion from string") }
        if parsed.isDottedMapped { throw .invalid(Messages.mappedNotAllowed) }
        return parsed
    }

    /// Counts the work of reading an address, which splits it into new texts.
    private static func read(_ text: String, _ run: Activation) throws(EvaluationError) { try run.spend(16 + text.utf8.count) }

    private static func isAddress(_ value: Value, _ run: Activation) throws(EvaluationError) -> Bool {
        do throws(EvaluationError) { _ = try address(value, run) } catch {
            if error.isFinal { throw error }
            return false
        }
        return true
    }

    private static func isBlock(_ value: Value, _ run: Activation) throws(EvaluationError) -> Bool {
        do throws(EvaluationError) { _ = try block(value, run) } catch {
            if error.isFinal { throw error }
            return false
        }
        return true
    }
}
