"""What the chat formats share: OpenAI, Mistral, DeepSeek, Ollama."""
