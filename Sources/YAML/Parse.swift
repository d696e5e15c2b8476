/// Reads a stream of YAML 1.2 documents by the core schema. An empty stream has no documents.
///
/// Throws everything that is wrong at once, up to the first fault of syntax, behind which libyaml cannot go on.
public func parse(_ source: SourceText, limits: Limits = Limits()) throws(YAMLErrors) -> [Document] {
    let outcome = compose(source, limits: limits)
    guard outcome.errors.isEmpty else {
        var mender = Mender(source, limits)
        let errors = outcome.errors.map { mender.mend($0) }
        throw YAMLErrors(errors: errors.sorted { $0.position < $1.position })
    }
    return outcome.documents
}

/// Reads a stream of YAML 1.2 documents from its bytes.
public func parse(_ bytes: [UInt8], limits: Limits = Limits()) throws(YAMLErrors) -> [Document] {
    try parse(SourceText(bytes), limits: limits)
}

/// Reads a stream of YAML 1.2 documents from a text.
public func parse(_ text: String, limits: Limits = Limits()) throws(YAMLErrors) -> [Document] {
    try parse(SourceText(text), limits: limits)
}

/// Documents and faults, without the search for mended lines.
func compose(_ source: SourceText, limits: Limits) -> (documents: [Document], errors: [YAMLError]) {
    if let error = TextCheck(source, limits).firstFault { return ([], [error]) }
    guard source.bytes.count > source.markLength else { return ([], []) }
    return source.bytes.withUnsafeBufferPointer { bytes in
        var composer = Composer(source, limits)
        var events = EventParser(UnsafeBufferPointer(rebasing: bytes[source.markLength...]))
        composer.run(&events)
        return (composer.documents, composer.errors)
    }
}
